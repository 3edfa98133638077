import type { Language } from '../goalNodes';
import type { Words } from './messages';

/** The page can't translate: it is given its words. */
export function timelineWords({ t }: Language): Words {
  return {
    score: t('Score'),
    cost: t('Cost so far'),
    iteration: t('Iteration'),
    iterations: t('Iterations'),
    points: t('Iterations in the chart'),
    table: t('Score and cost of the iterations'),
    unknown: t('unknown'),
    failed: t('failed'),
    showTable: t('Show as table'),
    showChart: t('Show as chart'),
    showEarlier: t('Show earlier iterations'),
    loading: t('Loading…'),
    empty: t('No iteration has ended yet.'),
    activity: t('Activity'),
    hint: t('Hint to the worker'),
    sendHint: t('Send Hint'),
    showAll: t('Show All'),
    openFile: t('Open File'),
    evidence: t('Evidence'),
  };
}
