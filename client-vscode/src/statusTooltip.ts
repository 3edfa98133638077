import * as vscode from 'vscode';
import { markdownText } from './markdownText';
import type { Requirement, Snapshot } from './protocol';
import { duration, money } from './statusText';

const MOST = 8;

/** Phase, what is unmet, cost and time. */
export function statusTooltip(snapshot: Snapshot): vscode.MarkdownString {
  const tooltip = new vscode.MarkdownString('', true);
  tooltip.appendMarkdown(`**${markdownText(snapshot.title)}**\n\n`);
  tooltip.appendMarkdown(`${markdownText(phase(snapshot))}\n\n`);
  for (const line of unmet(snapshot)) {
    tooltip.appendMarkdown(`- ${line}\n`);
  }
  tooltip.appendMarkdown(`\n${footer(snapshot)}`);
  return tooltip;
}

function phase(snapshot: Snapshot): string {
  const [first] = snapshot.interrupts;
  if (first !== undefined) {
    return vscode.l10n.t('Waits for you: {0}', first.title);
  }
  const status = statusName(snapshot.status);
  const doing = snapshot.activity ?? (snapshot.phase === null ? '' : phaseName(snapshot.phase));
  const detail = doing === '' ? snapshot.reason : doing;
  return detail === '' ? status : `${status} · ${detail}`;
}

export function statusName(status: string | null): string {
  const names: Readonly<Record<string, string>> = {
    running: vscode.l10n.t('Running'),
    waiting: vscode.l10n.t('Waiting'),
    paused: vscode.l10n.t('Paused'),
    interrupted: vscode.l10n.t('Interrupted'),
    complete: vscode.l10n.t('Complete'),
    capped: vscode.l10n.t('Out of iterations'),
    timed_out: vscode.l10n.t('Out of time'),
    over_budget: vscode.l10n.t('Over budget'),
    stalled: vscode.l10n.t('No progress'),
    blocked: vscode.l10n.t('Blocked'),
    impossible: vscode.l10n.t('Impossible'),
    cancelled: vscode.l10n.t('Stopped'),
    crashed: vscode.l10n.t('Crashed'),
  };
  return status === null ? vscode.l10n.t('Checked') : (names[status] ?? status);
}

export function phaseName(name: NonNullable<Snapshot['phase']>): string {
  return {
    working: vscode.l10n.t('working'),
    checking: vscode.l10n.t('checking'),
    judging: vscode.l10n.t('judging'),
  }[name];
}

function unmet(snapshot: Snapshot): string[] {
  const open = snapshot.requirements.filter((one) => one.status !== 'met' && one.status !== 'waived');
  const lines = open.slice(0, MOST).map(requirementLine);
  const findings = snapshot.integrity.filter((one) => !one.accepted);
  lines.push(...findings.slice(0, MOST).map((one) => `$(shield) ${markdownText(`${one.id}: ${one.message}`)}`));
  const more = Math.max(0, open.length - MOST) + Math.max(0, findings.length - MOST);
  return more > 0 ? [...lines, vscode.l10n.t('and {0} more', more)] : lines;
}

function requirementLine(one: Requirement): string {
  const icon = one.status === 'unmet' ? '$(error)' : one.status === 'stale' ? '$(history)' : '$(question)';
  return `${icon} ${markdownText(`R${one.number} ${one.text}`)}`;
}

function footer(snapshot: Snapshot): string {
  const cost = money(snapshot.cost.usd);
  const spent = snapshot.cost.usd === 0 ? [] : [cost ?? vscode.l10n.t('cost unknown')];
  return [...spent, duration(snapshot.elapsedSeconds)].join(' · ');
}
