import { describe, expect, test } from "vitest";
import { readRegistry } from "./registry-document.ts";

const npx = { package: "tiny-agent@1.2.3", args: ["--acp"], env: { TINY_UPDATES: "off" } };

function agent(more: object = {}): object {
  return { id: "tiny", name: "Tiny", version: "1.2.3", description: "small", distribution: { npx }, ...more };
}

function read(...agents: unknown[]) {
  return readRegistry(JSON.stringify({ version: "1.0.0", agents, extensions: [] }), "linux-x64");
}

describe("a registry", () => {
  test("has agents with their distributions, the preferred one first, and keeps unknown members out", () => {
    const binary = {
      "linux-x86_64": { archive: "https://example.com/a.tgz", cmd: "./bin/tiny", args: ["acp"] },
    };
    const uvx = { package: "tiny[acp]==1.2.3" };
    const { agents, refused } = read(
      agent({ distribution: { npx, binary, uvx }, icon: "x.svg", license: "MIT" }),
    );
    expect(refused).toEqual([]);
    const run = { args: [], env: {} };
    expect(agents.get("tiny")).toMatchObject({
      version: "1.2.3",
      distributions: [
        { kind: "npx", package: "tiny-agent", version: "1.2.3", run: { args: ["--acp"], env: npx.env } },
        {
          kind: "binary",
          archive: "https://example.com/a.tgz",
          cmd: "bin/tiny",
          run: { ...run, args: ["acp"] },
        },
        { kind: "uvx", package: "tiny[acp]", version: "1.2.3", run },
      ],
    });
  });

  test("gives a package without a version the agent's, and one for another platform nothing", () => {
    const scoped = { package: "@scope/agent" };
    const binary = { "darwin-aarch64": { archive: "https://example.com/a.tgz", cmd: "a" } };
    const { agents } = read(
      agent({ distribution: { npx: scoped } }),
      agent({ id: "mac", distribution: { binary } }),
    );
    expect(agents.get("tiny")?.distributions).toMatchObject([{ package: "@scope/agent", version: "1.2.3" }]);
    expect(agents.get("mac")?.distributions).toEqual([]);
  });

  test("is shown with what its texts hide", () => {
    const { agents, refused } = read(
      agent({ description: "sm\u202ella" }),
      agent({ id: "evil\u200b\u001b[2J", distribution: { npx: { package: "\u202e" } } }),
    );
    expect(agents.get("tiny")?.description).toBe("sm\\u202ella");
    expect(refused).toMatchObject([{ id: "evil\\u200b\\u001b[2J" }]);
  });

  test("is refused as a whole when it is none", () => {
    for (const text of ["", "null", "[]", "{}", '{"agents":{}}', "<html>", "[".repeat(100_000)])
      expect(() => readRegistry(text, "linux-x64")).toThrow();
    expect(() => read(...Array.from({ length: 1_001 }, () => agent()))).toThrow();
  });

  test.each([
    ["a name with metacharacters", { id: "a;rm -rf" }],
    ["a name that leads out", { id: "../native" }],
    ["a name of a prototype", { id: "__proto__" }],
    ["a name that is too long", { id: "a".repeat(65) }],
    ["a range", { version: "^1.0.0" }],
    ["no version", { version: "latest" }],
    ["control characters", { name: "a\u001b[2J" }],
    ["hidden characters", { name: "Claude\u202eedoC" }],
    ["a package at a range", { distribution: { npx: { package: "tiny@^1" } } }],
    ["a package at a tag", { distribution: { npx: { package: "tiny@latest" } } }],
    ["a package that is an option", { distribution: { npx: { package: "--registry=http://evil@1.0.0" } } }],
    ["a package that is an address", { distribution: { npx: { package: "https://evil/x.tgz" } } }],
    ["a package that is a git repository", { distribution: { npx: { package: "git+ssh://evil/x@1.0.0" } } }],
    ["a package that is an alias", { distribution: { npx: { package: "tiny@npm:evil@1.0.0" } } }],
    ["a package that is a folder", { distribution: { npx: { package: "../evil@1.0.0" } } }],
    ["a Python package that is an option", { distribution: { uvx: { package: "--index-url=http://evil" } } }],
    ["a Python package that is an address", { distribution: { uvx: { package: "x @ https://evil/x.whl" } } }],
    ["an argument with a line break", { distribution: { npx: { package: "a@1.0.0", args: ["a\nb"] } } }],
    ["too many arguments", { distribution: { npx: { package: "a@1.0.0", args: Array(65).fill("a") } } }],
    [
      "an archive from a file",
      { distribution: { binary: { "linux-x86_64": { archive: "file:///etc/passwd", cmd: "a" } } } },
    ],
    [
      "a login in an address",
      { distribution: { binary: { "linux-x86_64": { archive: "https://a:b@x.com/a.zip", cmd: "a" } } } },
    ],
    [
      "a command that leads out",
      { distribution: { binary: { "linux-x86_64": { archive: "https://x.com/a.zip", cmd: "../a" } } } },
    ],
    [
      "an absolute command",
      { distribution: { binary: { "linux-x86_64": { archive: "https://x.com/a.zip", cmd: "/bin/sh" } } } },
    ],
    [
      "a checksum that is none",
      {
        distribution: {
          binary: { "linux-x86_64": { archive: "https://x.com/a.zip", cmd: "a", sha256: "1" } },
        },
      },
    ],
  ])("refuses an entry with %s, and only that", (_, more) => {
    const { agents, refused } = read(agent(more), agent({ id: "sound" }));
    expect([...agents.keys()]).toEqual(["sound"]);
    expect(refused).toHaveLength(1);
  });

  test.each([
    ..."PATH HOME NODE_OPTIONS LD_PRELOAD DYLD_INSERT_LIBRARIES BASH_ENV PYTHONPATH GIT_SSH_COMMAND SHELL".split(
      " ",
    ),
    ..."HTTPS_PROXY ANTHROPIC_BASE_URL OPENAI_API_BASE NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED".split(
      " ",
    ),
    ..."ANTHROPIC_API_KEY GITHUB_TOKEN npm_config_registry UV_INDEX_URL PIP_INDEX_URL XDG_CONFIG_HOME LANG".split(
      " ",
    ),
    ...["a b", "A=B", "constructor()"],
  ])("lets no entry set %s", (name) => {
    const env = { [name]: "x" };
    expect(read(agent({ distribution: { npx: { package: "a@1.0.0", env } } })).agents.size).toBe(0);
  });

  test("lets no value of a variable be filled in", () => {
    const env = { NAME: ["$", "{key}"].join("") };
    expect(read(agent({ distribution: { npx: { package: "a@1.0.0", env } } })).refused).toHaveLength(1);
  });

  test("refuses a name that occurs twice, whichever entry comes first", () => {
    const { agents, refused } = read(agent(), agent({ version: "9.9.9" }), agent({ version: "1.0.0" }));
    expect([agents.size, refused.length]).toEqual([0, 2]);
  });
});
