import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

/** The only folder that the page may load from. */
export function pageFolder(extension: vscode.Uri): vscode.Uri {
  return vscode.Uri.joinPath(extension, 'dist', 'timeline');
}

/** The page: its own script and style, and nothing from anywhere else. */
export function timelineHtml(webview: vscode.Webview, extension: vscode.Uri): string {
  const file = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(pageFolder(extension), name)).toString();
  const nonce = randomBytes(16).toString('base64url');
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}';`;
  return `<!DOCTYPE html>
<html lang="${vscode.env.language}">
<head>
  <meta charset="utf-8">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <link rel="stylesheet" href="${file('page.css')}">
  <title>${vscode.l10n.t('Timeline')}</title>
</head>
<body>
  <main id="timeline"><p>${vscode.l10n.t('Loading…')}</p></main>
  <script nonce="${nonce}" src="${file('page.js')}"></script>
</body>
</html>`;
}
