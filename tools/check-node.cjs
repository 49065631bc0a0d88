// Runs before `npm start` and `npm test`, in the syntax of old Node, so that a too old one is told in a sentence.
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `turnlog: npm scripts need Node 24 or newer and found ${process.version}. Was npm ci run without install scripts? Run: npm rebuild node`,
  );
  process.exit(6);
}
