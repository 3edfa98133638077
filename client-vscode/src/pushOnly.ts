import type { FeatureState, ServerCapabilities, StaticFeature } from 'vscode-languageclient/node';

/** Diagnostics are pushed as soon as they change: pulling the same ones would only be later. */
export class PushOnly implements StaticFeature {
  fillClientCapabilities(): void {
    // Nothing to declare.
  }

  preInitialize(capabilities: ServerCapabilities): void {
    delete capabilities.diagnosticProvider;
  }

  initialize(): void {
    // Nothing to begin.
  }

  getState(): FeatureState {
    return { kind: 'static' };
  }

  clear(): void {
    // Nothing to end.
  }
}
