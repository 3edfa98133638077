import { mkdir, readdir } from 'node:fs/promises';
import * as path from 'node:path';
import * as vscode from 'vscode';
import { Bundle } from './bundle';
import { programSettings, setForUser, text } from './configuration';
import { unfitInterpreter, unfitPath } from './configuredProgram';
import { EDITOR } from './editorModelWords';
import { type Contents, ManagedEnvironments, pipInstall, type Unmade } from './managedEnvironment';
import { cleanEnvironment, type Ran, run } from './processes';
import { LEAST } from './pythons';
import { commandOfPath, commandOfPython, namingSetting, type ProgramSettings, type ServerCommand, SetupProblem } from './serverCommand';
import type { Offer } from './services';
import { terminalFolder } from './terminal';
import { writeProgram } from './terminalProgram';

const MODELS_WANTED = 'modelsWanted';

/** Where the server's program is: what the settings name, what this build brings, or an environment that is made. */
export class Environment {
  private readonly bundle: Bundle;
  private readonly managed: ManagedEnvironments;
  private readonly making = new Map<string, Promise<string>>();

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    /** Starts the server anew. */
    private readonly restart: () => Promise<void>,
  ) {
    this.bundle = new Bundle(path.join(context.extensionPath, 'bundled'), context.globalState);
    this.managed = new ManagedEnvironments(path.join(this.storage, 'environments'));
  }

  /** Rejects with a SetupProblem where there is no server to be had. */
  async command(): Promise<ServerCommand> {
    await mkdir(this.storage, { recursive: true });
    const command = await this.find();
    await writeProgram(terminalFolder(this.context), command).catch((problem: unknown) => {
      this.log.warn(`terminals get no donewhen: ${String(problem)}`);
    });
    return command;
  }

  private async find(): Promise<ServerCommand> {
    const { serverPath, interpreter } = programSettings();
    switch (namingSetting({ serverPath, interpreter })) {
      case 'serverPath':
        return this.ofPath(serverPath);
      case 'interpreter':
        return this.ofInterpreter(interpreter);
      case undefined:
        return (await this.ofBundle()) ?? commandOfPython(await this.ofManaged(), true);
    }
  }

  /** Whether what calls models can be installed from here: the extension changes no environment but its own. */
  installsModels(): boolean {
    return namingSetting(programSettings()) === undefined;
  }

  /** From now on the extension's own environment can call models. Rejects where the server runs in another one. */
  async wantModels(): Promise<void> {
    const setting = namingSetting(programSettings());
    if (setting !== undefined) {
      const message = vscode.l10n.t('Your settings name the program that runs Done When, and what calls models is installed into the extension’s own environment alone.');
      throw new SetupProblem(message, [useOwn(setting), openSettings(setting)]);
    }
    await this.context.globalState.update(MODELS_WANTED, true);
  }

  /** What a person can do if the program is there, but is not a server that answers. */
  remedies(): readonly Offer[] {
    const setting = namingSetting(programSettings());
    return [this.tryAgain(), ...(setting === undefined ? [this.setUpAgain()] : [openSettings(setting), useOwn(setting)])];
  }

  /** What a person can do where the server is of another version than the extension. */
  versionRemedies(): readonly Offer[] {
    const settings = programSettings();
    const setting = namingSetting(settings);
    if (setting === undefined) {
      return [this.setUpAgain()];
    }
    return [setting === 'interpreter' ? this.installThere(settings.interpreter) : openSettings(setting), useOwn(setting)];
  }

  /** A folder that nobody else writes to. */
  private get storage(): string {
    return this.context.globalStorageUri.fsPath;
  }

  private async ofPath(program: string): Promise<ServerCommand> {
    const unfit = await unfitPath(program, vscode.l10n.t);
    if (unfit !== undefined) {
      throw new SetupProblem(unfit, [openSettings('serverPath'), useOwn('serverPath')]);
    }
    return commandOfPath(program);
  }

  private async ofInterpreter(interpreter: string): Promise<ServerCommand> {
    const unfit = await unfitInterpreter(interpreter, this.storage, process.env, vscode.l10n.t);
    if (unfit !== undefined) {
      const install = unfit.lacksDoneWhen === true ? [this.installThere(interpreter)] : [];
      throw new SetupProblem(unfit.message, [...install, useOwn('interpreter'), openSettings('interpreter')]);
    }
    return commandOfPython(interpreter, false);
  }

  /** What calls models is large and wanted by some alone: it is installed when a model is chosen. */
  private async ofBundle(): Promise<ServerCommand | undefined> {
    return this.extras().length > 0 ? undefined : this.bundle.command(this.storage, this.clean);
  }

  private async ofManaged(): Promise<string> {
    const contents = await this.contents();
    const found = await this.managed.find(contents);
    if (found !== undefined) {
      return found;
    }
    // Who asks for the same one meanwhile waits for it too.
    const same = JSON.stringify(contents);
    const making = this.making.get(same) ?? this.make(contents).finally(() => this.making.delete(same));
    this.making.set(same, making);
    return making;
  }

  private async contents(): Promise<Contents> {
    const extras = this.extras();
    const lock = path.join(this.context.extensionPath, 'locks', extras.length > 0 ? 'models.txt' : 'server.txt');
    return { wheel: await this.wheel(), lock, extras };
  }

  /** Nothing that is started to set something up is of the workspace, nor run in it. */
  private get clean(): NodeJS.ProcessEnv {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return cleanEnvironment(process.env, folders.map((folder) => folder.uri.fsPath));
  }

  private extras(): string[] {
    const wanted = this.context.globalState.get<boolean>(MODELS_WANTED, false);
    // The editor's own models are asked by the extension itself.
    const called = [text('model'), ...text('judgeModel').split(',')].some((one) => one !== '' && !one.includes(EDITOR));
    return wanted || called ? ['models', 'litellm'] : [];
  }

  private async wheel(): Promise<string> {
    const folder = path.join(this.context.extensionPath, 'wheel');
    const names = await readdir(folder).catch(() => [] as string[]);
    const wheel = names.find((name) => name.endsWith('.whl'));
    if (wheel === undefined) {
      const message = vscode.l10n.t('This build of the extension doesn’t include the server. Choose a Python that has donewhen.');
      throw new SetupProblem(message, [openSettings('interpreter')]);
    }
    return path.join(folder, wheel);
  }

  private async make(contents: Contents): Promise<string> {
    const title =
      contents.extras.length > 0
        ? vscode.l10n.t('Installing model support for Done When, about 450 MB, once')
        : vscode.l10n.t('Setting up a Python environment for Done When');
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    return vscode.window.withProgress(options, async (progress, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => {
        abort.abort();
      });
      const onLine = (line: string): void => {
        this.log.info(line);
        const starts = line.startsWith('> ');
        const step = line.includes(' install ') ? vscode.l10n.t('installing') : vscode.l10n.t('creating it');
        progress.report({ message: starts ? step : line.slice(0, 80) });
      };
      const made = await this.managed.make(contents, { env: this.clean, signal: abort.signal, onLine });
      if (token.isCancellationRequested) {
        throw new SetupProblem(vscode.l10n.t('Setting up Done When was cancelled.'), [this.tryAgain()]);
      }
      if (made.kind !== 'ready') {
        throw this.notMade(made);
      }
      return made.python;
    });
  }

  private notMade(made: Unmade): SetupProblem {
    if (made.kind === 'no-python') {
      const found = made.tooOld.map((python) => python.version.join('.')).join(', ');
      const needs = vscode.l10n.t('Done When needs Python {0} or newer.', LEAST.join('.'));
      const message = found === '' ? needs : vscode.l10n.t('{0} Only {1} was found.', needs, found);
      return new SetupProblem(message, [this.chooseInterpreter(), howToInstall(), this.tryAgain()]);
    }
    if (made.kind === 'no-venv') {
      const version = made.python.version.join('.');
      const message = vscode.l10n.t(
        'Python {0} can’t make virtual environments. On Debian and Ubuntu, install python{0}-venv.',
        version,
      );
      return new SetupProblem(message, [this.tryAgain(), this.chooseInterpreter()]);
    }
    this.log.error(made.output);
    const message = vscode.l10n.t('Done When could not be installed. The log says why.');
    return new SetupProblem(message, [this.tryAgain(), this.chooseInterpreter()]);
  }

  private tryAgain(): Offer {
    return { label: vscode.l10n.t('Try Again'), perform: this.restart };
  }

  private installThere(interpreter: string): Offer {
    return {
      label: vscode.l10n.t('Install It There'),
      perform: async () => {
        const title = vscode.l10n.t('Installing donewhen for {0}', interpreter);
        const [command = '', ...args] = pipInstall(interpreter, await this.wheel(), this.extras());
        const options = { location: vscode.ProgressLocation.Notification, title };
        const onLine = (line: string): void => {
          this.log.info(line);
        };
        const installing = (): Promise<Ran> => run(command, args, { cwd: this.storage, env: this.clean, onLine });
        const { code, output } = await vscode.window.withProgress(options, installing);
        if (code !== 0) {
          this.log.error(output);
          throw new Error(vscode.l10n.t('donewhen could not be installed for {0}. The log says why.', interpreter));
        }
        await this.restart();
      },
    };
  }

  private setUpAgain(): Offer {
    const perform = async (): Promise<void> => {
      await this.managed.forget(await this.contents());
      await this.restart();
    };
    return { label: vscode.l10n.t('Set Up Again'), perform };
  }

  private chooseInterpreter(): Offer {
    const perform = async (): Promise<void> => {
      const title = vscode.l10n.t('A Python, {0} or newer', LEAST.join('.'));
      const [chosen] = (await vscode.window.showOpenDialog({ title })) ?? [];
      if (chosen !== undefined) {
        await setForUser('interpreter', chosen.fsPath);
      }
    };
    return { label: vscode.l10n.t('Choose Python…'), perform };
  }
}

function useOwn(instead: keyof ProgramSettings): Offer {
  const perform = (): Promise<void> => setForUser(instead, undefined);
  return { label: vscode.l10n.t('Use an Environment of Its Own'), perform };
}

function howToInstall(): Offer {
  const perform = async (): Promise<unknown> => vscode.env.openExternal(vscode.Uri.parse('https://www.python.org/downloads/'));
  return { label: vscode.l10n.t('How to Install'), perform };
}

function openSettings(name: keyof ProgramSettings): Offer {
  const perform = async (): Promise<unknown> =>
    vscode.commands.executeCommand('workbench.action.openSettings', `@id:donewhen.${name}`);
  return { label: vscode.l10n.t('Open Settings'), perform };
}
