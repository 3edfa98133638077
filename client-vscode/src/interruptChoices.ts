import type { Interrupt, RunAnswerArgument } from './protocol';

/** One way to answer: what the button says, and what is sent. */
export interface Choice {
  readonly label: string;
  readonly answer: Pick<RunAnswerArgument, 'response' | 'remember'>;
}

/** How an interrupt can be answered with a button; the first one says yes. `text`: in words as well. */
export interface Choices {
  readonly yes: Choice;
  readonly no: Choice;
  readonly kept: readonly Choice[];
  readonly edits: boolean;
  readonly text: boolean;
}

type Translate = (message: string) => string;

/** `t` translates the labels. What an interrupt is about decides what yes and no mean. */
export function choicesOf(interrupt: Interrupt, t: Translate): Choices {
  const [yes, no] = labels(interrupt, t);
  const approval = interrupt.kind === 'approval' && interrupt.about !== 'start';
  return {
    yes: { label: yes, answer: { response: 'approve' } },
    no: { label: no, answer: { response: 'deny' } },
    kept: interrupt.remembers ? keptChoices(t) : [],
    edits: approval && editable(interrupt) !== undefined,
    text: interrupt.kind === 'question' && takesText(interrupt),
  };
}

function labels(interrupt: Interrupt, t: Translate): [string, string] {
  if (interrupt.about === 'start') {
    return [t('Start'), t("Don't Start")];
  }
  if (interrupt.kind === 'approval') {
    return [t('Approve'), t('Deny')];
  }
  if (interrupt.about.startsWith('requirement:')) {
    return [t('Waive'), t('Leave It')];
  }
  if (interrupt.about === 'claim:blocked' || interrupt.about === 'claim:impossible') {
    return [t('End the Run'), t('Go On')];
  }
  return interrupt.about === 'restore' ? [t('Keep Them'), t('Discard Them')] : [t('Yes'), t('No')];
}

function keptChoices(t: Translate): Choice[] {
  return [
    { label: t('Approve for This Run'), answer: { response: 'approve', remember: 'run' } },
    { label: t('Always in This Workspace'), answer: { response: 'approve', remember: 'workspace' } },
  ];
}

function takesText(interrupt: Interrupt): boolean {
  return !interrupt.about.startsWith('requirement:') && interrupt.about !== 'restore';
}

/** The field of the input that a person may edit as one line, such as a command; undefined where there is none. */
export function editable(interrupt: Interrupt): string | undefined {
  return typeof interrupt.input['command'] === 'string' ? 'command' : undefined;
}

/** The lines of a start's summary that say who works, who judges, and what it may take. */
const SUMMARY_LINES = 4;

/** What is asked, on one line of a notification. */
export function oneLine(interrupt: Interrupt, most: number): string {
  const title = plain(interrupt.title);
  if (interrupt.about === 'start') {
    const lines = interrupt.preview.split('\n').slice(0, SUMMARY_LINES).map(plain);
    return [title, ...lines.filter((line) => line !== '')].join(' · ').replace(' · ', ' ');
  }
  const preview = plain(interrupt.preview);
  const text = title.includes(preview) ? title : `${title} ${preview}`;
  if (text.length <= most) {
    return text;
  }
  // What a long command does is often at its end: nobody approves it by its beginning.
  const half = Math.floor((most - 3) / 2);
  return `${text.slice(0, half)} … ${text.slice(text.length - half)}`;
}

function plain(text: string): string {
  return visible(text).replace(/\s+/g, ' ').trim();
}

// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

export function visible(text: string): string {
  return text.replace(CONTROL, '\ufffd');
}
