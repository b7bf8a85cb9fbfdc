import { describe, expect, it } from "vitest";
import { type LaunchOptions, launchOf } from "./agent-launch.ts";
import { Catalogue } from "./catalogue.ts";

const options: LaunchOptions = {
  folders: { home: "/private/home", temporary: "/private/tmp" },
  install: "/install",
  environment: { PATH: "/bin", LANG: "C", ANTHROPIC_API_KEY: "secret", AWS_SECRET: "other", HOME: "/user" },
  node: "/node",
  platform: "linux-x64",
};
const model = { url: "http://127.0.0.1:1", key: "k" };
const catalogue = Catalogue.load();

describe("the launch of an agent", () => {
  it("gives it a home of its own, its credentials, and of the rest only what it needs", () => {
    const { env, credentials } = launchOf(catalogue.entry("claude"), options);
    expect(env).toMatchObject({ HOME: "/private/home", TMPDIR: "/private/tmp", PATH: "/bin", LANG: "C" });
    expect(env.ANTHROPIC_API_KEY).toBe("secret");
    expect(env).not.toHaveProperty("AWS_SECRET");
    expect(credentials).toEqual([{ from: ".claude/.credentials.json", to: ".claude/.credentials.json" }]);
  });

  it("keeps the user's credentials out when another model is used", () => {
    const { env, credentials } = launchOf(catalogue.entry("claude"), { ...options, model });
    expect(env).toMatchObject({ ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: "k" });
    expect(env).not.toHaveProperty("ANTHROPIC_MODEL");
    expect(credentials).toEqual([]);
  });

  it("asks for the model that the endpoint names", () => {
    const named = { ...options, model: { ...model, model: "big" } };
    expect(launchOf(catalogue.entry("claude"), named).env.ANTHROPIC_MODEL).toBe("big");
    expect(launchOf(catalogue.entry("codex"), named).files[".codex/config.toml"]).toContain('model = "big"');
    expect(launchOf(catalogue.entry("codex"), { ...options, model }).files[".codex/config.toml"]).toContain(
      'model = "gpt-5.5"',
    );
  });

  it("merges what profile and endpoint write into one file", () => {
    const { files } = launchOf(catalogue.entry("opencode"), { ...options, model });
    const written = JSON.parse(files[".config/opencode/opencode.json"] ?? "");
    expect(written).toMatchObject({
      lsp: false,
      provider: { reins: { options: { baseURL: `${model.url}/v1` } } },
    });
    expect(files[".config/opencode/plugin/reins-guard.js"]).toContain("Bun.plugin");
  });

  it("starts scripts with Node, what guards them first, and programs as they are", () => {
    const codex = launchOf(catalogue.entry("codex"), options);
    expect(codex.command).toBe("/node");
    expect(codex.args).toEqual([
      "--import",
      expect.stringMatching(/^file:.*\/catalogue\/files\/codex-guard\.mjs$/),
      "/install/node_modules/@agentclientprotocol/codex-acp/dist/index.js",
    ]);
    const opencode = launchOf(catalogue.entry("opencode"), options);
    expect([opencode.command, ...opencode.args]).toEqual([
      "/install/node_modules/opencode-linux-x64/bin/opencode",
      "acp",
    ]);
  });

  it.each(catalogue.entries.filter(({ start }) => start).map(({ id }) => id))("can be made for %s", (id) => {
    const entry = catalogue.entry(id);
    expect(launchOf(entry, options).agent).toBe(id);
    expect(JSON.stringify(launchOf(entry, { ...options, model }))).toContain(model.url);
  });

  it("is refused for what cannot run", () => {
    expect(() => launchOf(catalogue.entry("amp"), options)).toThrow("Amp cannot be run. It speaks no ACP");
    expect(() => launchOf(catalogue.entry("opencode"), { ...options, platform: "sunos-x64" })).toThrow(
      "OpenCode is not made for sunos-x64.",
    );
    const { install: _, ...without } = options;
    expect(() => launchOf(catalogue.entry("claude"), without)).toThrow("run `reins agents install claude`");
  });
});
