// Runs before what needs the sources to run as they stand, in the syntax of old Node, so that a too old one is told in
// a sentence. It is found where npm was kept from running install scripts: they bring the Node of the npm scripts.
if (Number(process.versions.node.split(".")[0]) < 24) {
  console.error(
    `turnlog: npm scripts need Node 24 or newer and found ${process.version}. Was npm ci run without install scripts? Run: npm rebuild node`,
  );
  process.exit(6);
}
