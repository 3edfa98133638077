import type { Language } from '../goalNodes';
import type { Words } from './messages';

/** The page can't translate: it is given its words. */
export function timelineWords({ t }: Language): Words {
  return {
    score: t('Score'),
    cost: t('Cost so far'),
    iteration: t('Iteration'),
    iterations: t('Iterations'),
    showTable: t('Show as table'),
    showChart: t('Show as chart'),
    showEarlier: t('Show earlier iterations'),
    loading: t('Loading…'),
    empty: t('No iteration has ended yet.'),
  };
}
