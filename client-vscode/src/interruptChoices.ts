import type { Interrupt, RunAnswerArgument } from './protocol';

/** One way to answer: what the button says, and what is sent. */
export interface Choice {
  readonly label: string;
  /** What it means, where the label alone doesn't say. */
  readonly detail?: string;
  readonly answer: Reply;
}

/** What is sent; or what is done instead, after which it is no longer asked. */
export type Reply = Pick<RunAnswerArgument, 'response' | 'remember'> | { readonly command: string };

/**
 * How an interrupt can be answered with a button; the first one says yes, `further` ones stand beside yes and no. `text`:
 * in words as well; `open`: best so.
 */
export interface Choices {
  readonly yes: Choice;
  readonly no: Choice;
  readonly further: readonly Choice[];
  /** All of them in the order of a list; what stands for proof comes last. */
  readonly all: readonly Choice[];
  readonly edits: boolean;
  readonly text: boolean;
  readonly open: boolean;
}

type Translate = (message: string) => string;

/** `t` translates the labels. What an interrupt is about decides what yes and no mean. */
export function choicesOf(interrupt: Interrupt, t: Translate): Choices {
  if (interrupt.about.startsWith('requirement:')) {
    return undecidable(t);
  }
  const [yesLabel, noLabel] = labels(interrupt, t);
  const yes: Choice = { label: yesLabel, answer: { response: 'approve' } };
  const no: Choice = { label: noLabel, answer: { response: 'deny' } };
  const further = interrupt.remembers ? keptChoices(t) : aboutFindings(interrupt) ? [endChoice(t)] : [];
  const approval = interrupt.kind === 'approval' && interrupt.about !== 'start';
  return {
    yes,
    no,
    further,
    all: [yes, ...further, no],
    edits: approval && editable(interrupt) !== undefined,
    text: interrupt.kind === 'question' && takesText(interrupt),
    open: interrupt.kind === 'question' && takesText(interrupt) && !endsRun(interrupt) && !aboutFindings(interrupt),
  };
}

function labels(interrupt: Interrupt, t: Translate): [string, string] {
  if (interrupt.about === 'start') {
    return [t('Start'), t("Don't Start")];
  }
  if (interrupt.kind === 'approval') {
    return [t('Approve'), t('Deny')];
  }
  if (endsRun(interrupt)) {
    return [t('End the Run'), t('Go On')];
  }
  if (aboutFindings(interrupt)) {
    return [t('Accept All'), t('Have the Worker Undo It')];
  }
  return interrupt.about === 'restore' ? [t('Keep Them'), t('Discard Them')] : [t('Yes'), t('No')];
}

/** Nothing can decide a requirement: what would comes first, a person's word that stands for proof last. */
function undecidable(t: Translate): Choices {
  const yes: Choice = {
    label: t('Add Check'),
    detail: t('A command that decides it; the run goes on with it'),
    answer: { command: 'donewhen.addCheck' },
  };
  const no: Choice = {
    label: t('Choose Judge'),
    detail: t('A model that decides it by the evidence; the run goes on with it'),
    answer: { command: 'donewhen.chooseJudge' },
  };
  const end: Choice = { label: t('End Without Proof'), answer: { response: 'deny' } };
  const waive: Choice = { label: t('Waive'), detail: t('Your word takes the place of proof'), answer: { response: 'approve' } };
  return { yes, no, further: [end, waive], all: [yes, no, end, waive], edits: false, text: false, open: false };
}

function keptChoices(t: Translate): Choice[] {
  return [
    {
      label: t('Approve for This Run'),
      detail: t('You aren’t asked about exactly this again until the run ends'),
      answer: { response: 'approve', remember: 'run' },
    },
    {
      label: t('Always in This Workspace'),
      detail: t('You aren’t asked about exactly this again in this workspace; kept for you, not in its files'),
      answer: { response: 'approve', remember: 'workspace' },
    },
  ];
}

/** Changes of the proof itself are all that is left. */
function aboutFindings({ about }: Interrupt): boolean {
  return about === 'findings';
}

function endChoice(t: Translate): Choice {
  return {
    label: t('End the Run'),
    detail: t('Nothing is accepted; the run can be resumed later'),
    answer: { response: 'end' },
  };
}

/** The worker has given up: to agree ends the run. */
function endsRun({ about }: Interrupt): boolean {
  return about === 'claim:blocked' || about === 'claim:impossible';
}

function takesText(interrupt: Interrupt): boolean {
  return interrupt.about !== 'restore';
}

/** The field of the input that a person may edit, such as a command; undefined where there is none. */
export function editable(interrupt: Interrupt): string | undefined {
  return typeof interrupt.input['command'] === 'string' ? 'command' : undefined;
}
