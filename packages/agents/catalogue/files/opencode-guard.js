// A plugin of OpenCode that keeps all others out. OpenCode loads plugins from a repository's `.opencode` folder and
// `opencode.json` even when told to disregard them, but it loads those of its own configuration first. From then on
// nothing is run as code that is neither part of the program nor in the folder of this file.
const own = import.meta.dirname;

Bun.plugin({
  name: "reins",
  setup(build) {
    build.onLoad({ filter: /.*/ }, ({ path }) => {
      if (path.startsWith(`${own}/`) || path.startsWith("/$bunfs/")) return undefined;
      return { contents: "export default {};", loader: "js" };
    });
  },
});

export default { id: "reins", server: async () => ({}) };
