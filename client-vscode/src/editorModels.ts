import * as vscode from 'vscode';
import type { Chosen, EditorModelAsked, EditorModelReply } from './editorModelWords';
import { EDITOR, harmlessObject, idOf, inOneTurn, kindOf } from './editorModelWords';
import { say } from './notices';

/** The models that the editor offers now, those of other extensions included. */
export async function offeredModels(): Promise<Chosen[]> {
  const models = await vscode.lm.selectChatModels({});
  return models.map(({ vendor, id, name }) => ({ model: `${EDITOR}${vendor}/${id}`, name, vendor }));
}

/** Answers what the server asks of one of the editor's models. What goes wrong is a part of the answer. */
export async function completeWithEditorModel(asked: EditorModelAsked, token: vscode.CancellationToken): Promise<EditorModelReply> {
  try {
    const model = await find(asked.model);
    return model === undefined ? { problem: { kind: 'gone', message: '' } } : await complete(model, asked, token);
  } catch (problem) {
    return { problem: { kind: kindOf(problem), message: problem instanceof Error ? problem.message : String(problem) } };
  }
}

/**
 * Has the editor ask for leave to use its models, where it was not given yet: it does so for what a person does, and a
 * run that came to it later would stand still.
 *
 * @returns false where leave was refused, or a model can't be used; the person was told then.
 */
export async function allowed(context: vscode.ExtensionContext, models: readonly string[]): Promise<boolean> {
  for (const name of new Set(models.filter((one) => one.startsWith(EDITOR)))) {
    const model = await find(name);
    if (model === undefined) {
      say('error', vscode.l10n.t('The editor does not offer {0}: sign in to its provider, or choose another model.', name));
      return false;
    }
    if (context.languageModelAccessInformation.canSendRequest(model) === true) {
      continue;
    }
    try {
      const { text } = await model.sendRequest([vscode.LanguageModelChatMessage.User('Reply with the word yes.')], {
        justification: vscode.l10n.t('Done When sends it goals, files and evidence of this workspace while a goal is pursued or judged.'),
      });
      await collected(text);
    } catch (problem) {
      const why = problem instanceof Error ? problem.message : String(problem);
      say('error', vscode.l10n.t('{0} can’t be used: {1}', name, why));
      return false;
    }
  }
  return true;
}

async function find(name: string): Promise<vscode.LanguageModelChat | undefined> {
  const { vendor, id } = idOf(name);
  const [exact] = await vscode.lm.selectChatModels({ vendor, id });
  return exact ?? (await vscode.lm.selectChatModels({ vendor, family: id }))[0];
}

async function complete(
  model: vscode.LanguageModelChat,
  { messages, tools, schema }: EditorModelAsked,
  token: vscode.CancellationToken,
): Promise<EditorModelReply> {
  const sent = inOneTurn(messages, schema).map(({ role, text, calls, results }) =>
    role === 'assistant'
      ? vscode.LanguageModelChatMessage.Assistant([
          ...(text === '' ? [] : [new vscode.LanguageModelTextPart(text)]),
          ...calls.map((call) => new vscode.LanguageModelToolCallPart(call.id, call.name, harmlessObject(call.arguments))),
        ])
      : vscode.LanguageModelChatMessage.User([
          ...results.map((one) => new vscode.LanguageModelToolResultPart(one.id, [new vscode.LanguageModelTextPart(one.text)])),
          ...(text === '' ? [] : [new vscode.LanguageModelTextPart(text)]),
        ]),
  );
  const offered = tools.map(({ name, description, parameters }) => ({ name, description, inputSchema: parameters }));
  const response = await model.sendRequest(sent, offered.length === 0 ? {} : { tools: offered }, token);
  let text = '';
  const calls: { id: string; name: string; arguments: string }[] = [];
  for await (const part of response.stream) {
    if (part instanceof vscode.LanguageModelTextPart) {
      text += part.value;
    } else if (part instanceof vscode.LanguageModelToolCallPart) {
      calls.push({ id: part.callId, name: part.name, arguments: JSON.stringify(part.input) });
    }
  }
  return { text, calls, ...(await counted(model, sent, text + calls.map((call) => call.arguments).join(''))) };
}

/** The tokens by the model's own count; nothing where it can't count. The tools are not counted: they have no text. */
async function counted(
  model: vscode.LanguageModelChat,
  sent: readonly vscode.LanguageModelChatMessage[],
  reply: string,
): Promise<{ inputTokens?: number; outputTokens?: number }> {
  try {
    const input = await Promise.all(sent.map((message) => model.countTokens(message)));
    return { inputTokens: input.reduce((sum, one) => sum + one, 0), outputTokens: await model.countTokens(reply) };
  } catch {
    return {};
  }
}

async function collected(stream: AsyncIterable<string>): Promise<string> {
  let whole = '';
  for await (const part of stream) {
    whole += part;
  }
  return whole;
}
