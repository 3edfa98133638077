import type { Language } from '../goalNodes';
import type { CommandResults, Snapshot, Step } from '../protocol';
import { isActive, isHalted, isResumable } from '../snapshots';
import type { StepView } from './messages';

/** A step as the page shows it. What others wrote stays text: the page makes nothing else of it. */
export function stepView(step: Step, language: Language): StepView {
  const { id, order, kind, title, text, diff, state, cut, uri, evidenceId } = step;
  return {
    id,
    order,
    kind,
    lead: leadOf(step, language),
    title,
    text,
    diff,
    counts: diff === '' ? '' : `+${String(step.added)} −${String(step.removed)}`,
    state,
    actions: [
      ...(cut ? [{ kind: 'step', stepId: id, diff: diff !== '' } as const] : []),
      ...(uri === null ? [] : [{ kind: 'file', uri } as const]),
      ...(evidenceId === null ? [] : [{ kind: 'evidence', evidenceId } as const]),
    ],
  };
}

/** What kind of thing it is, where its title doesn't begin with that. */
function leadOf({ kind, title, state }: Step, { t }: Language): string {
  const hints = { running: t('your hint, not read yet'), done: t('your hint, read'), failed: t('your hint, never read') };
  const words: Partial<Record<Step['kind'], string>> = {
    says: t('says'),
    reports: t('reports'),
    runs: title.startsWith('run ') ? '' : state === 'running' ? t('runs') : t('ran'),
    check: t('check'),
    hint: hints[state],
    asks: t('asks you'),
  };
  return words[kind] ?? '';
}

/** Somebody works who can read a hint, now or once the run goes on. */
export function isHintable(snapshot: Snapshot): boolean {
  const works = snapshot.worker !== null && snapshot.worker !== 'human';
  return works && (isActive(snapshot) || isResumable(snapshot) || isHalted(snapshot));
}

/** When a hint will be read. */
export function readWhen({ when }: CommandResults['donewhen.run.hint'], { t }: Language): string {
  return {
    nextCall: t('The agent reads your hint before its next call to the model.'),
    nextTurn: t('The worker reads your hint at the start of its next turn.'),
    resume: t('The worker reads your hint when the run is resumed.'),
  }[when];
}
