import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, test } from "vitest";
import { readConfiguration } from "../configuration/configuration.ts";
import { homeRedactor, readableWebhooks } from "./reins.ts";

test.each([
  ["http://hooks.example/x", true, true],
  ["http://10.0.0.5/x", true, true],
  ["http://localhost.example/x", true, true],
  ["http://hooks.example/x", false, false],
  ["https://hooks.example/x", true, false],
  ["http://localhost:80/x", true, false],
  ["http://127.0.0.9/x", true, false],
  ["http://[::1]:9000/x", true, false],
])("a webhook at %s with details: %s can be read on the way: %s", (url, details, isReadable) => {
  const webhooks = [{ name: "one", url, secret: "a secret that is long enough", details }];
  expect(readableWebhooks(webhooks)).toEqual(isReadable ? webhooks : []);
});

describe("the secrets of a home", () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "reins-redactor-"));
  });
  afterEach(() => rm(home, { recursive: true }));

  const shown = async (text: string, configuration: string, environment: NodeJS.ProcessEnv = {}) => {
    await writeFile(join(home, "reins.yaml"), configuration);
    const file = await readConfiguration(home);
    return (await homeRedactor({ home, environment, file })).text(text);
  };

  it("include known formats and the credentials of agents", async () => {
    const environment = { ANTHROPIC_API_KEY: "plain words of a key" };
    const text = `npm_${"a1B2".repeat(9)} plain words of a key, EDITOR=vim`;
    expect(await shown(text, "", environment)).toBe("npm_[redacted] [redacted], EDITOR=vim");
  });

  it("include the credentials of added agents", async () => {
    const agent = {
      id: "mine",
      name: "Mine",
      support: { level: "supported" },
      start: { with: "file", file: "/bin/true" },
      credentials: { variables: ["MY_KEY"], files: [] },
      enforcement: { level: "asked" },
    };
    await writeFile(join(home, "agents.yaml"), JSON.stringify({ agents: [agent] }));
    expect(await shown("say open sesame", "", { MY_KEY: "open sesame" })).toBe("say [redacted]");
  });

  it("include what reins.yaml names: variables, lines of files, formats, secrets of webhooks", async () => {
    await writeFile(join(home, "secrets.txt"), "first secret\nsecond secret\n");
    const configuration = `
redact:
  variables: [DEPLOY]
  files: [secrets.txt]
  formats: [{ name: ours, pattern: "acme_[a-z0-9]{8,}" }]
webhooks:
  - { name: chat, url: "https://chat.example/hook", secret: webhook words }`;
    const text = "deploy words, first secret, second secret, acme_abc12345, webhook words, the rest";
    expect(await shown(text, configuration, { DEPLOY: "deploy words" })).toBe(
      "[redacted], [redacted], [redacted], acme_[redacted], [redacted], the rest",
    );
  });

  it("rejects files of secrets that cannot be read", async () => {
    await expect(shown("", "redact: { files: [nowhere.txt] }")).rejects.toThrow("nowhere.txt cannot be used");
    const bad = "redact: { formats: [{ name: x, pattern: '.' }] }";
    await expect(shown("", bad)).rejects.toThrow(/reins\.yaml cannot be used: redact\.formats: .*pattern/);
  });
});
