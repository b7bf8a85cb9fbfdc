import { describe, expect, it } from "vitest";
import {
  droppedVariables,
  isPassable,
  type LaunchOptions,
  launchOf,
  sessionMeta,
  settingsHash,
} from "./agent-launch.ts";
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

  it("has skills in a folder of its own, where it takes them, and none without any", () => {
    const claude = catalogue.entry("claude");
    const skills = [{ name: "deploy", text: "---\nname: deploy\n---\nShip." }];
    const { files, meta, clears } = launchOf(claude, { ...options, skills });
    expect(files[".reins-skills/skills/deploy/SKILL.md"]).toContain("Ship.");
    expect(files[".reins-skills/.claude-plugin/plugin.json"]).toContain('"name": "reins"');
    expect(clears).toContain(".reins-skills");
    const plugin = { type: "local", path: "/private/home/.reins-skills" };
    expect(meta).toMatchObject({ claudeCode: { options: { settingSources: [], plugins: [plugin] } } });
    const none = launchOf(claude, options);
    expect(Object.keys(none.files)).not.toContainEqual(expect.stringContaining(".reins-skills"));
    expect(none.meta).toMatchObject({ claudeCode: { options: { plugins: [] } } });
    const codex = launchOf(catalogue.entry("codex"), { ...options, skills });
    expect(Object.values(codex.files).join()).not.toContain("Ship.");
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
      ...["acp", "--hostname", "localhost"],
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

describe("variables of the environment", () => {
  const environment = {
    PATH: "/bin",
    HTTPS_PROXY: "http://127.0.0.1:1",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:2",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    SECRET: "x",
  };
  const entry = Catalogue.load().entry("claude");
  const launched = (pass: readonly string[]) =>
    launchOf(entry, {
      folders: { home: "/home", temporary: "/tmp" },
      install: "/install",
      environment,
      pass,
      node: "node",
      platform: "linux-x64",
    }).env;

  it("are passed on where the operator names them, and only then", () => {
    expect(launched([])).not.toHaveProperty("HTTPS_PROXY");
    expect(launched(["HTTPS_PROXY"])).toMatchObject({ HTTPS_PROXY: environment.HTTPS_PROXY });
    expect(launched(["HTTPS_PROXY"])).not.toHaveProperty("SECRET");
  });

  it("that lead to a model are named when they are dropped", () => {
    expect(droppedVariables(entry, { environment })).toEqual([
      "HTTPS_PROXY",
      "ANTHROPIC_BASE_URL",
      "NODE_EXTRA_CA_CERTS",
    ]);
    const pass = ["HTTPS_PROXY", "ANTHROPIC_BASE_URL", "NODE_EXTRA_CA_CERTS"];
    expect(droppedVariables(entry, { environment, pass })).toEqual([]);
  });

  it.each([
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "ld_audit",
    "DYLD_INSERT_LIBRARIES",
    "BASH_ENV",
    "GIT_SSH_COMMAND",
    "HOME",
  ])("%s is never passed on", (name) => expect(isPassable(name)).toBe(false));
});

describe("an agent that the operating system confines", () => {
  it("is started without a sandbox of its own, and still asks for everything", () => {
    const entry = Catalogue.load().entry("codex");
    const launched = (confined: boolean) =>
      launchOf(entry, {
        folders: { home: "/home", temporary: "/tmp" },
        install: "/install",
        environment: {},
        confined,
        node: "node",
        platform: "linux-x64",
      });
    const [free, inside] = [launched(false), launched(true)];
    expect(free.files[".codex/config.toml"]).toContain('sandbox_mode = "read-only"');
    expect(inside.files[".codex/config.toml"]).toContain('sandbox_mode = "danger-full-access"');
    expect(inside.files[".codex/config.toml"]?.split("sandbox_mode")).toHaveLength(2);
    expect([free.mode, inside.mode]).toEqual(["read-only", "agent-full-access"]);
    expect(inside.args.join(" ")).toContain("codex-guard.mjs");
  });
});

const launch = { meta: { vendor: { options: { ask: true } } }, strip: ["vendor.options", "roots"] };

describe("the _meta of a session call", () => {
  it("is the profile's when the client sent none", () => {
    expect(sessionMeta(launch)).toEqual({ meta: { vendor: { options: { ask: true } } }, stripped: [] });
  });

  it("keeps harmless members that the client sent", () => {
    const { meta } = sessionMeta(launch, { traceparent: "00-1", vendor: { theme: "dark" } });
    expect(meta).toEqual({ traceparent: "00-1", vendor: { theme: "dark", options: { ask: true } } });
  });

  it("loses what would weaken asking, and reports it", () => {
    const sent = { vendor: { theme: "dark", options: { ask: false, allow: ["*"] } }, roots: ["/"] };
    expect(sessionMeta(launch, sent)).toEqual({
      meta: { vendor: { theme: "dark", options: { ask: true } } },
      stripped: ["vendor.options", "roots"],
    });
  });

  it("is the profile's even where the client sent something else of the same name", () => {
    expect(sessionMeta(launch, { vendor: "no object" }).meta).toEqual({ vendor: { options: { ask: true } } });
  });

  it("has nothing of a client's options left for Claude", () => {
    const { meta, strip } = {
      ...Catalogue.load().entry("claude").profile,
      strip: Catalogue.load().entry("claude").strip,
    };
    const options = {
      allowedTools: ["Bash"],
      permissionMode: "bypassPermissions",
      settingSources: ["project"],
    };
    const result = sessionMeta({ meta, strip }, { claudeCode: { options, emitRawSDKMessages: true } });
    expect(result.stripped).toEqual(["claudeCode"]);
    expect(result.meta).toEqual(meta);
    expect(result.meta).toMatchObject({ claudeCode: { options: { settingSources: [] } } });
  });
});

const claude = Catalogue.load().entry("claude");

describe("the hash of an agent's settings", () => {
  it("stays the same as long as they do", () => {
    const reordered = { ...claude, profile: { ...claude.profile, env: reversed(claude.profile.env) } };
    expect(settingsHash(reordered)).toBe(settingsHash(claude));
    expect(settingsHash({ ...claude, name: "Another name" })).toBe(settingsHash(claude));
  });

  it("changes with everything that changes how the agent runs", () => {
    const { profile } = claude;
    const variants = [
      { ...claude, profile: { ...profile, mode: "plan" } },
      { ...claude, profile: { ...profile, env: { ...profile.env, X: "1" } } },
      { ...claude, profile: { ...profile, meta: {} } },
      { ...claude, profile: { ...profile, files: [{ path: "x", text: "y" }] } },
      { ...claude, strip: [] },
      { ...claude, start: { ...Catalogue.load().entry("codex").start!, file: String(claude.start?.file) } },
    ];
    const hashes = new Set([claude, ...variants].map(settingsHash));
    expect(hashes.size).toBe(variants.length + 1);
  });
});

function reversed(object: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(object).toReversed());
}
