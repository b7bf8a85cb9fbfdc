import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfiguration } from "./configuration.ts";
import { restateSettings } from "./graphs.ts";
import { nativeSettings } from "./native.ts";

describe("reins.yaml", () => {
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "reins-configuration-"));
  });
  afterAll(() => rm(home, { recursive: true }));

  const configured = async (text: string) => {
    await writeFile(join(home, "reins.yaml"), text);
    return readConfiguration(home);
  };

  it("is optional", async () => {
    expect(await readConfiguration(join(home, "nowhere"))).toMatchObject({
      allow_hosts: [],
      workspaces: [],
      webhooks: [],
      confine: {},
      ws: { auth: "token", backend: "native" },
    });
    expect(await readConfiguration(fileURLToPath(import.meta.url))).toMatchObject({ webhooks: [] });
  });

  it("contains addresses, workspaces and webhooks", async () => {
    await writeFile(join(home, "secret"), "0123456789abcdef\n");
    const text = `
port: 1234
workspaces: [/srv/project]
webhooks:
  - { name: chat, url: "https://chat.example/hook", secret: "@${join(home, "secret")}" }
  - { name: mail, url: "https://mail.example/hook", secret: "@secret" }`;
    expect(await configured(text)).toMatchObject({
      port: 1234,
      workspaces: ["/srv/project"],
      webhooks: [
        { name: "chat", secret: "0123456789abcdef" },
        { name: "mail", secret: "0123456789abcdef" },
      ],
    });
  });

  it("contains OpenID issuers, with a secret from a file, and refuses what is not safe", async () => {
    await writeFile(join(home, "client"), "of the page\n");
    const issuer = (more: string) =>
      `oidc: [{ name: corp, issuer: "https://id.example", audience: [reins], tenant: acme${more} }]`;
    expect((await configured(issuer(', client_id: page, client_secret: "@client"'))).oidc).toMatchObject([
      { name: "corp", client_secret: "of the page", grants: [], clock_skew: 30, kind: "user", work: 60 },
    ]);
    await expect(configured(issuer(', client_secret: "@nothing"'))).rejects.toThrow("client_secret");
    await expect(configured(issuer(", algorithms: [HS256]"))).rejects.toThrow("algorithms");
    await expect(configured(issuer(", kind: agent"))).rejects.toThrow("kind");
    await expect(configured(issuer(", clock_skew: 3600"))).rejects.toThrow("clock_skew");
    await expect(configured(issuer(", grants: [{ claim: groups, roles: [admin] }]"))).rejects.toThrow(
      "together",
    );
    await expect(configured(issuer("").replace("https", "http"))).rejects.toThrow("https");
    const twice = issuer("").replace(/\[\{(.*)\}\]/, "[{$1}, {$1}]");
    await expect(configured(twice)).rejects.toThrow("same name");
  });

  it("contains Restate, with defaults, and refuses what others could use", async () => {
    const { graphs } = await configured("graphs: { engine: restate }");
    expect(restateSettings(graphs)).toMatchObject({
      ...{ ingress: "http://127.0.0.1:8080", admin: "http://127.0.0.1:9070" },
      ...{ host: "127.0.0.1", port: 9080, identityKeys: [] },
    });
    expect(restateSettings({ ...graphs, engine: "embedded" })).toBeUndefined();
    for (const [settings, why] of [
      ["listen: '0.0.0.0:9080'", "without identity_keys"],
      ["identity_keys: [secret]", "publickeyv1_"],
      ["address: 'http://u:p@restate:8080'", "no password"],
      ["token: '@missing'", "does not exist"],
    ])
      await expect(configured(`graphs: { engine: restate, restate: { ${settings} } }`)).rejects.toThrow(why);
  });

  it("contains the settings of sessions and of /ws", async () => {
    const text = "db: r.db\nttl: 5\npreload_standing: true\nheartbeat_interval: 0\nws: { auth: none }";
    expect(await configured(text)).toMatchObject({
      db: "r.db",
      ttl: 5,
      preload_standing: true,
      heartbeat_interval: 0,
      ws: { auth: "none", backend: "native" },
    });
  });

  it("contains the certificate, idle timeouts and retention", async () => {
    const said = { tls: { cert: "cert.pem", key: "key.pem" }, agent_idle: 5, retention: 0.5 };
    expect(await configured(JSON.stringify(said))).toMatchObject(said);
    await expect(configured("tls: { cert: cert.pem }")).rejects.toThrow("tls.key");
    await expect(configured("retention: 0")).rejects.toThrow("retention");
  });

  it.each([
    ["a time of life that is none", "ttl: -1", "ttl"],
    ["an unknown kind of access", "ws: { auth: everybody }", "auth"],
    ["what it does not know", "prot: 1", 'Unrecognized key: "prot"'],
    ["what is no YAML", "port: [", "reins.yaml cannot be used"],
    [
      "a secret that is not there",
      'webhooks: [{ name: a, url: "http://a.example", secret: "@/nowhere" }]',
      "does not exist",
    ],
  ])("rejects %s", async (_, text, message) => {
    await expect(configured(text)).rejects.toThrow(message);
  });
});

it("has no native settings by default", () => {
  expect(nativeSettings({})).toEqual({ idle: {}, patience: {}, presence: {}, prices: {} });
});

it("maps the models of the native agent", () => {
  const models = { qwen3: { context: 40_000, output: 2_000, images: false } };
  expect(nativeSettings({ model: "qwen3", models, fallbacks: ["demo"] }).models).toEqual({
    model: "qwen3",
    known: { qwen3: { contextTokens: 40_000, maxOutputTokens: 2_000, images: false } },
    fallbacks: ["demo"],
  });
});

it("maps the native settings to the options of the host", () => {
  const quiet_hours = { from: 22, to: 7 };
  const prices = { "claude-x": { input: 3, output: 15, cache_read: 0.3 } };
  const environment = { JAVA_HOME: "/opt/java" };
  expect(
    nativeSettings({ quiet_hours, most_load: 0.5, patience: 300, may_spend: true, prices, environment }),
  ).toEqual({
    environment,
    idle: { quietHours: quiet_hours, mostLoad: 0.5 },
    patience: { mostMs: 300_000 },
    presence: { maySpend: true },
    prices,
  });
});
