/**
 * Counts the TypeScript tokens of `src` and of the workspaces in a commit, without comments: by folder, and in total.
 *
 *     node tools/count-tokens.ts [COMMIT]
 */
import { execFileSync } from "node:child_process";
import ts from "typescript";

/** Counts the leaves of the syntax tree. */
export function countTokens(file: ts.SourceFile, node: ts.Node = file): number {
  if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return 0;
  const children = node.getChildren(file);
  if (children.length === 0) return node.getWidth(file) > 0 ? 1 : 0;
  return children.reduce((count, child) => count + countTokens(file, child), 0);
}

export const parsed = (path: string, text: string): ts.SourceFile =>
  ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);

if (process.argv[1] === import.meta.filename) {
  const [commit = "HEAD"] = process.argv.slice(2);
  const git = (...words: readonly string[]): string => execFileSync("git", words, { encoding: "utf8" });
  const tokens = new Map<string, number>();
  for (const path of git("ls-tree", "-r", "--name-only", commit, "src", "packages").split("\n")) {
    if (!path.endsWith(".ts")) continue;
    const [, folder = ""] = path.split("/");
    const own = countTokens(parsed(path, git("show", `${commit}:${path}`)));
    for (const name of [folder, "all"]) tokens.set(name, (tokens.get(name) ?? 0) + own);
  }
  for (const [name, count] of [...tokens].toSorted()) console.log(name.padEnd(20), count);
}
