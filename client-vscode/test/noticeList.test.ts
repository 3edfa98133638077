import { describe, expect, it, test } from 'vitest';
import { Endings, IN_VIEW, noticesOf, Turns } from '../src/noticeList';
import type { Notice, Snapshot } from '../src/protocol';
import { openOf, waiting } from '../src/questions';
import { asked, interrupt, notice, snapshot } from './samples';

const here = { several: false, asksByDialog: () => false, endings: { has: () => true } };

const RIGHT_AWAY = '2026-01-01T00:00:00.000Z';

type Given = NonNullable<Parameters<typeof snapshot>[0]>;

/** A run that asks one thing. */
function asking(id: string, { askedAt = RIGHT_AWAY, when = 'asked', ...given }: Given & { askedAt?: string; when?: Notice['when'] } = {}): Snapshot {
  const { view = {}, ...more } = given;
  const interrupts = [interrupt({ id, askedAt })];
  const notices = [notice(id, { when, at: askedAt })];
  return snapshot({ runId: id, status: 'waiting', interrupts, ...more, view: { goal: id, active: true, asking: true, asked: [asked(id)], notices, ...view } });
}

/** A run of which there is something to say. */
function told(when: 'stands' | 'ended', key: string, given: Given = {}): Snapshot {
  return snapshot({ runId: key, status: 'interrupted', ...given, view: { notices: [notice(key, { when, kind: 'warning', at: '' })], ...given.view } });
}

function messages(notices: readonly Notice[]): string[] {
  return notices.map(({ message }) => message);
}

describe('a question', () => {
  it('names its goal where several folders are open, as text', () => {
    const [one] = noticesOf([asking('I1', { title: 'Go [north](command:x)' })], { ...here, several: true });
    expect(one?.message).toBe('“Go [north]\u2060(command:x)”: I1');
  });

  it('about the start is no notification where a dialog asks it', () => {
    const runs = [asking('I1', { when: 'starting' }), asking('I2', { when: 'starting', goalUri: 'file:///w/other.goal.md' })];
    const around = { ...here, asksByDialog: (uri: string | null) => uri === 'file:///w/GOAL.md' };
    expect(messages(noticesOf(runs, around))).toEqual(['I2']);
  });
});

describe('an end', () => {
  it('is told in this window where it came before its eyes, and never anew', () => {
    const endings = new Endings();
    const over = told('ended', 'run-1', { status: 'capped' });
    const isTold = (): boolean => noticesOf([over], { ...here, endings }).length > 0;
    endings.note([over]);
    expect(isTold()).toBe(false);
    endings.note([snapshot()]);
    endings.note([over]);
    expect(isTold()).toBe(true);
    endings.note([snapshot()]);
    expect(isTold()).toBe(false);
  });

  it('is told of the newest run of a goal alone, and of no check', () => {
    const runs = [told('ended', 'check', { status: null }), told('ended', 'newest'), told('stands', 'before')];
    expect(messages(noticesOf(runs, here))).toEqual(['newest']);
  });
});

describe('of what there is to say', () => {
  const first = asking('north', { askedAt: '2026-01-01T00:00:01.000Z' });
  const second = asking('south', { askedAt: '2026-01-01T00:00:02.000Z' });
  const runs = [second, first];

  it('one question is told at a time, the oldest first, and all of them count', () => {
    const turns = new Turns();
    const now = noticesOf(runs, here);
    const [asks] = turns.next(now);
    expect(asks?.message).toBe('north');
    expect([turns.asking, turns.next(now), waiting(runs)]).toEqual([true, [], 2]);
    turns.over(asks ?? expect.fail('nothing is asked'));
    expect(messages(turns.next(noticesOf([second], here)))).toEqual(['south']);
    expect(waiting([second])).toBe(1);
  });

  it('one that was put off is not told again, and the next one is', () => {
    const turns = new Turns();
    const now = noticesOf(runs, here);
    turns.next(now).forEach((one) => { turns.over(one); });
    expect(messages(turns.next(now))).toEqual(['south']);
  });

  it('news that nobody closes keeps no question back, and gives way to other news only', () => {
    const turns = new Turns();
    const news = noticesOf([told('ended', 'blocked')], here);
    expect(messages(turns.next(news))).toEqual(['blocked']);
    expect(messages(turns.next([...noticesOf([first], here), ...news]))).toEqual(['north']);
    expect(turns.givesWay(IN_VIEW)).toBe(false);
    const other = noticesOf([told('ended', 'capped')], here);
    expect(turns.next([...news, ...other])).toEqual([]);
    expect([turns.givesWay(IN_VIEW - 1), turns.givesWay(IN_VIEW)]).toEqual([false, true]);
    news.forEach((one) => { turns.over(one); });
    expect(messages(turns.next([...news, ...other]))).toEqual(['capped']);
  });

  it('what is over may come again', () => {
    const turns = new Turns();
    const interrupted = noticesOf([told('stands', 'interrupted')], here);
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
