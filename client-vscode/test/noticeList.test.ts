import { describe, expect, it, test } from 'vitest';
import { Endings, IN_VIEW, type Notice, noticesOf, Once, Turns } from '../src/noticeList';
import type { Snapshot } from '../src/protocol';
import { openOf, waiting } from '../src/questions';
import { asked, choice, interrupt, snapshot } from './samples';

const t = (message: string, ...values: string[]): string => message.replace(/\{(\d+)\}/gu, (_, index) => String(values[Number(index)]));
const here = { several: false, asksByDialog: () => false, endings: { has: ({ view }: Snapshot) => view.outcome !== null }, t };

const RIGHT_AWAY = '2026-01-01T00:00:00.000Z';

type Given = NonNullable<Parameters<typeof snapshot>[0]>;

/** A run that asks one thing. */
function asking(id: string, { askedAt = RIGHT_AWAY, about = 'tool:run_command', ...given }: Given & { askedAt?: string; about?: string } = {}): Snapshot {
  const { view = {}, ...more } = given;
  const interrupts = [interrupt({ id, askedAt, about })];
  return snapshot({ runId: id, status: 'waiting', interrupts, ...more, view: { goal: id, active: true, asking: true, asked: [asked(id)], ...view } });
}

function over(status: string, given: Given['view'] = {}): Snapshot {
  return snapshot({ status, view: { outcome: `ended: ${status}`, ...given } });
}

function labels(notice: Notice | undefined): string[] {
  return notice?.buttons.map(({ label }) => label) ?? [];
}

/** The ids of the commands of a notice's buttons. */
function commands({ buttons }: Notice): string[] {
  return buttons.flatMap(({ does }) => (does.kind === 'command' ? [does.id] : []));
}

describe('a question', () => {
  it('is told with its first answers, a way to the others, and what shows all of it', () => {
    const [notice] = noticesOf([asking('I1')], here);
    expect(notice).toMatchObject({ message: 'Run this command? I1', asks: true });
    expect(labels(notice)).toEqual(['Approve', 'Deny', 'More…', 'Show']);
    expect(notice?.buttons.map(({ does }) => (does.kind === 'choose' ? does.choice.response : does.kind))).toEqual(['approve', 'deny', 'more', 'show']);
  });

  it('offers more only where there is more', () => {
    const view = { asked: [asked('I1', { edits: null })] };
    expect(labels(noticesOf([asking('I1', { view })], here)[0])).toEqual(['Approve', 'Deny', 'Show']);
    const third = { asked: [asked('I1', { edits: null, choices: ['a', 'b', 'c'].map((one) => choice(one, 'text')) })] };
    expect(labels(noticesOf([asking('I1', { view: third })], here)[0])).toEqual(['a', 'b', 'More…', 'Show']);
  });

  it('that is open is answered in words', () => {
    const [notice] = noticesOf([asking('I1', { view: { asked: [asked('I1', { open: true, words: true })] } })], here);
    expect(labels(notice)).toEqual(['Answer…', 'Show']);
    expect(notice?.buttons[0]?.does.kind).toBe('words');
  });

  it('names its goal where several folders are open, as text', () => {
    const [notice] = noticesOf([asking('I1', { title: 'Go [north](command:x)' })], { ...here, several: true });
    expect(notice?.message).toBe('“Go [north]\u2060(command:x)”: Run this command? I1');
  });

  it('about the start is no notification where a dialog asks it', () => {
    const runs = [asking('I1', { about: 'start' }), asking('I2', { about: 'start', goalUri: 'file:///w/other.goal.md' })];
    const around = { ...here, asksByDialog: (uri: string | null) => uri === 'file:///w/GOAL.md' };
    expect(noticesOf(runs, around).map(({ message }) => message)).toEqual(['Run this command? I2']);
  });

  it('holds until it is answered, wherever that is', () => {
    const run = asking('I1');
    const [notice] = noticesOf([run], here);
    expect(notice?.holds([run])).toBe(true);
    expect(notice?.holds([snapshot({ runId: 'I1' })])).toBe(false);
    expect(notice?.holds([asking('I1', { status: 'interrupted', view: { active: false } })])).toBe(false);
    expect(notice?.holds([])).toBe(false);
  });
});

describe('a run that stands', () => {
  it('because its window is gone can go on, with what it asked just then', () => {
    const bare = noticesOf([snapshot({ status: 'interrupted' })], here);
    expect(bare.map(({ message, asks }) => [message, asks])).toEqual([['The run of “Ship it” was interrupted.', undefined]]);
    const [notice, ...others] = noticesOf([asking('I1', { status: 'interrupted', view: { active: false } })], here);
    expect(others).toEqual([]);
    expect(notice).toMatchObject({ message: 'The run of “Ship it” was interrupted while it asked: Run this command? I1', asks: true });
    expect(labels(notice)).toEqual(['Resume', 'Show']);
  });

  it('can be taken over from a window that is gone', () => {
    const [notice] = noticesOf([snapshot({ status: 'interrupted', takeOver: true })], here);
    expect(notice?.message).toContain('is gone. Take the run over here?');
    expect(notice && commands(notice)).toEqual(['donewhen.takeOver']);
  });

  it('since a plugin halted it says who and why', () => {
    const [notice] = noticesOf([snapshot({ status: 'waiting', halt: { plugin: 'office' }, view: { halted: 'it is [closed](command:x)' } })], here);
    expect(notice?.message).toBe('“Ship it” is waiting: office: it is [closed]\u2060(command:x)');
  });
});

describe('an end', () => {
  it('is told in this window where it came before its eyes, and never anew', () => {
    const endings = new Endings();
    endings.note([over('capped')]);
    expect(endings.has(over('capped'))).toBe(false);
    endings.note([snapshot()]);
    endings.note([over('capped')]);
    expect(endings.has(over('capped'))).toBe(true);
    endings.note([snapshot()]);
    expect(endings.has(snapshot())).toBe(false);
    endings.note([snapshot({ status: 'cancelled', view: { outcome: null } })]);
    expect(endings.has(snapshot({ status: 'cancelled' }))).toBe(false);
  });

  it('that is proven leads to the changes, the commit and the receipt', () => {
    const [notice] = noticesOf([over('complete')], here);
    expect(notice).toMatchObject({ kind: 'information', message: 'ended: complete' });
    expect(labels(notice)).toEqual(['Review Changes', 'Commit…', 'Copy Receipt']);
    expect(notice && commands(notice)).toEqual(['donewhen.reviewChanges', 'donewhen.commit', 'donewhen.copyReceipt']);
  });

  const repair = (action: string, label: string) => ({ action, label, role: null, model: null, iteration: null });
  const ROW = ['Set Address…', 'Choose Another Model…', 'Resume'];

  it('of another kind is a warning that offers first what repairs it, as far as there is room', () => {
    const repairs = [repair('setAddress', 'Set Address…'), repair('chooseModels', 'Choose Another Model…'), repair('resume', 'Resume')];
    const [notice] = noticesOf([over('paused', { repairs })], here);
    expect(notice?.kind).toBe('warning');
    expect(labels(notice)).toEqual(ROW);
    expect(notice && commands(notice)).toEqual(['donewhen.setAddress', 'donewhen.chooseModels', 'donewhen.resume']);
    const raised = noticesOf([over('capped', { repairs: [repair('resume', 'Raise the Limit…')] })], here)[0];
    expect(labels(raised)).toEqual(['Raise the Limit…', 'Show Report', 'Show Timeline']);
  });

  it('is told of the newest run of a goal alone, and of no check', () => {
    const runs = [snapshot({ runId: 'check', status: null }), over('complete'), snapshot({ runId: 'before', status: 'capped', view: { outcome: 'before' } })];
    expect(noticesOf(runs, here).map(({ message }) => message)).toEqual(['ended: complete']);
  });
});

describe('of what there is to say', () => {
  const first = asking('north', { askedAt: '2026-01-01T00:00:01.000Z' });
  const second = asking('south', { askedAt: '2026-01-01T00:00:02.000Z' });
  const runs = [second, first];
  const told = (notices: readonly Notice[]): string[] => notices.map(({ message }) => message);

  it('one question is told at a time, the oldest first, and all of them count', () => {
    const turns = new Turns();
    const now = noticesOf(runs, here);
    const [asks] = turns.next(now);
    expect(asks && told([asks])).toEqual(['Run this command? north']);
    expect([turns.asking, turns.next(now), waiting(runs)]).toEqual([true, [], 2]);
    turns.over(asks ?? expect.fail('nothing is asked'));
    expect(told(turns.next(noticesOf([second], here)))).toEqual(['Run this command? south']);
    expect(waiting([second])).toBe(1);
  });

  it('one that was put off is not told again, and the next one is', () => {
    const turns = new Turns();
    const now = noticesOf(runs, here);
    turns.next(now).forEach((one) => { turns.over(one); });
    expect(told(turns.next(now))).toEqual(['Run this command? south']);
  });

  it('news that nobody closes keeps no question back, and gives way to other news only', () => {
    const turns = new Turns();
    const news = noticesOf([over('blocked')], here);
    expect(told(turns.next(news))).toEqual(['ended: blocked']);
    expect(told(turns.next([...noticesOf([first], here), ...news]))).toEqual(['Run this command? north']);
    expect(turns.givesWay(IN_VIEW)).toBe(false);
    const other = { ...over('capped'), runId: 'other', view: { ...over('capped').view, goal: 'other' } };
    expect(turns.next([...news, ...noticesOf([other], here)])).toEqual([]);
    expect([turns.givesWay(IN_VIEW - 1), turns.givesWay(IN_VIEW)]).toEqual([false, true]);
    news.forEach((one) => { turns.over(one); });
    expect(told(turns.next([...news, ...noticesOf([other], here)]))).toEqual(['ended: capped']);
  });

  it('what is over may come again', () => {
    const turns = new Turns();
    const interrupted = noticesOf([snapshot({ status: 'interrupted' })], here);
    turns.next(interrupted).forEach((one) => { turns.over(one); });
    expect(turns.next(interrupted)).toEqual([]);
    turns.next([]);
    expect(turns.next(interrupted)).toHaveLength(1);
  });
});

test('what is open is asked in the order in which it came up, also while nobody goes on with the run', () => {
  const standing = asking('later', { status: 'interrupted', askedAt: '2026-01-01T00:00:09.000Z', view: { active: false } });
  expect(openOf([standing, asking('earlier')]).map(({ interrupt: { id } }) => id)).toEqual(['earlier', 'later']);
  expect(openOf([asking('I1', { view: { asking: false } }), asking('I2', { view: { asked: [] } })])).toEqual([]);
});

test('what goes wrong in the same way is told once while its words stand there, and anew to whoever tries again', () => {
  const once = new Once();
  expect([once.tells('no file'), once.tells('no file'), once.tells('no Python')]).toEqual([true, false, true]);
  once.closed('no file');
  expect(once.tells('no Python')).toBe(false);
  once.closed('no Python');
  expect(once.tells('no Python')).toBe(true);
  once.again();
  expect(once.tells('no Python')).toBe(true);
});
