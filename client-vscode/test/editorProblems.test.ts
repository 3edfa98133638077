import { describe, expect, it } from 'vitest';
import { editorDiagnostics, type EditorProblem, Sent } from '../src/editorProblems';

function problem(message: string, severity = 0, source?: string): EditorProblem {
  return { range: { start: { line: 1, character: 2 }, end: { line: 1, character: 5 } }, message, severity, source };
}

describe('editorDiagnostics', () => {
  it('hands on what other tools say, as the protocol has it', () => {
    const params = editorDiagnostics('file:///w/a.py', [problem('bad', 1, 'ruff'), problem('ours', 0, 'donewhen')]);
    expect(params).toEqual({
      uri: 'file:///w/a.py',
      diagnostics: [{ range: problem('').range, message: 'bad', severity: 2, source: 'ruff' }],
    });
  });

  it('keeps the worst where there are too many, and cuts long messages', () => {
    const many = [...Array.from({ length: 600 }, () => problem('hint', 3)), problem('x'.repeat(5_000))];
    const { diagnostics, omitted } = editorDiagnostics('file:///w/a.py', many);
    expect([diagnostics.length, omitted]).toEqual([500, 101]);
    expect(diagnostics[0]).toMatchObject({ severity: 1 });
    expect(diagnostics[0]?.message.length).toBe(2_000);
  });
});

describe('Sent', () => {
  it('tells what the server knows already', () => {
    const sent = new Sent();
    const bad = editorDiagnostics('file:///w/a.py', [problem('bad')]);
    const none = editorDiagnostics('file:///w/a.py', []);
    expect([none, bad, bad, none, none].map((one) => sent.differs(one))).toEqual([false, true, false, true, false]);
    sent.differs(bad);
    sent.forget();
    expect(sent.differs(bad)).toBe(true);
  });
});
