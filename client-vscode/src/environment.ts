import { programSettings } from './configuration';
import { commandOfPath, commandOfPython, type ServerCommand, serverSource } from './serverCommand';

/** Where the server's program is; made first where that is needed. Rejects with a message for people. */
export function resolveCommand(): Promise<ServerCommand> {
  const source = serverSource(programSettings());
  switch (source.kind) {
    case 'path':
      return Promise.resolve(commandOfPath(source.path));
    case 'interpreter':
      return Promise.resolve(commandOfPython(source.interpreter, false));
    case 'managed':
      return Promise.reject(new Error('no interpreter is configured'));
  }
}
