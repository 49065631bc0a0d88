import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const documents = [
  "README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => join("docs", file)),
];

/** The place of a heading, as the sites that show Markdown name it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** What the tarball has of the repository, beside what is built. */
const packed = /^(README\.md|LICENSE|package\.json|docs(\/.*)?)$/;
const repository = "https://github.com/turnlog/turnlog/blob/main/";

test("every link into the repository leads to a file that is there", () => {
  const links = documents.flatMap((document) =>
    [...readFileSync(join(root, document), "utf8").matchAll(/\]\(([^)#]*)/g)].flatMap(([, url = ""]) =>
      url.startsWith(repository) ? [url.slice(repository.length)] : [],
    ),
  );
  expect(links.length).toBeGreaterThan(3);
  expect(links.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("every link of a document leads to a file of the package, and to a heading that is there", () => {
  const links = documents.flatMap((document) =>
    [...readFileSync(join(root, document), "utf8").matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].map(
      ([, path = "", heading]) => ({ document, path, heading }),
    ),
  );
  expect(links.length).toBeGreaterThan(5);
  const dead = links.filter(({ document, path, heading }) => {
    const isPacked = packed.test(relative(root, resolve(root, path === "" ? document : join(dirname(document), path))));
    if (!isPacked) return true;
    const target = path === "" ? join(root, document) : join(root, dirname(document), path);
    if (!existsSync(target)) return true;
    const headings = heading === undefined ? [] : [...readFileSync(target, "utf8").matchAll(/^#+ (.*)$/gm)];
    return heading !== undefined && !headings.some(([, text = ""]) => anchorOf(text) === heading);
  });
  expect(dead).toEqual([]);
});
