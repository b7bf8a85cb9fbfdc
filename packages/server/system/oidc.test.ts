import { createHmac } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ManualClock } from "@reins/kit/manual-clock";
import { exportSPKI, importJWK } from "jose";
import { describe, expect, onTestFinished, test } from "vitest";
import { originOf } from "../src/access/oidc/settings.ts";
import { Access } from "../src/index.ts";
import { ask } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import { newHome, openHarness, Served } from "./fixtures/home.ts";
import { AUDIENCE, CLIENT, type Claims, Issuer } from "./fixtures/issuer.ts";
import { silent } from "./fixtures/parts.ts";

const SELF = "/v1/whoami";
const NOW = "2026-11-15T09:00:00.000Z";
const at = Date.parse(NOW) / 1_000;

interface Opened {
  readonly issuer: Issuer;
  readonly served: Served;
  readonly clock: ManualClock;
  readonly logged: string[];
  /** Asks with a token of the issuer. */
  as(claims?: Claims, path?: string): ReturnType<Served["ask"]>;
}

async function open(
  more: object = {},
  { home = "", issuer: known = undefined as Issuer | undefined } = {},
): Promise<Opened> {
  const issuer = known ?? (await Issuer.open(onTestFinished));
  const clock = new ManualClock(NOW);
  const settings = issuer.settings(more);
  const own = home === "" ? await newHome() : home;
  const opened = await openHarness(own, { clock, origins: [originOf(settings)] });
  const logged: string[] = [];
  const note = (fields: object, message: string) =>
    void logged.push(JSON.stringify([message, fields, String(Object(fields).err)]));
  const log = { ...silent, debug: note, info: note, warn: note, error: note };
  const limits = { failures: 1_000_000 };
  const served = await Served.open(opened.harness, {
    ...{ clock, log, limits, oidc: [settings] },
    access: await Access.open({ home: own, clock }),
    onEnd: (end) =>
      onTestFinished(async () => {
        await end();
        await opened.close();
        if (home === "") await rm(own, { recursive: true, force: true });
      }),
  });
  const as = async (claims: Claims = {}, path = SELF) =>
    served.ask("GET", path, { as: await issuer.token(claims, { at }) });
  return { issuer, served, clock, logged, as };
}

describe("a token of an issuer", () => {
  test("makes its subject a user with what the claims are mapped to, and no more", async () => {
    const { as } = await open();
    const least = await as({ groups: ["others", "admin"], roles: ["admin"], scope: "*" });
    expect(least).toMatchObject({
      status: 200,
      body: { user: "corp:ann", tenant: "acme", roles: [], scopes: [], is_admin: false, kind: "user" },
    });
    const staff = await as({ sub: "bob", groups: ["staff", "reviewers"], org: ["globex-inc"] });
    expect(staff.body).toMatchObject({
      user: "corp:bob",
      tenant: "globex",
      roles: ["approver"],
      scopes: ["repo:read"],
    });
    const boss = await as({ sub: "|x y|", realm_access: { roles: ["boss"] } });
    expect(boss.body).toMatchObject({
      user: expect.stringMatching(/^corp:\+[\w-]{24}$/),
      roles: ["admin"],
      is_admin: true,
    });
  });

  test("names one principal, whichever token it is, with the rights of the newest", async () => {
    const { as } = await open();
    const first = await as({ groups: ["reviewers"], iat: at - 20 });
    const second = await as({ groups: [], iat: at - 10, exp: at + 600 });
    expect(Object(second.body)).toMatchObject({ id: Object(first.body).id, roles: [] });
    expect((await as({ groups: ["reviewers"], iat: at - 20 })).body).toMatchObject({ roles: [] });
    expect(Object((await as({ org: "globex-inc" })).body).id).not.toBe(Object(first.body).id);
  });

  test("is refused for each claim that is wrong", async () => {
    const { as, logged, issuer } = await open();
    const wrong: readonly (readonly [string, Claims])[] = [
      ["of another audience", { aud: "another" }],
      ["of an audience list without this one", { aud: ["a", "b"] }],
      ["of another issuer", { iss: "https://issuer.example" }],
      ["that has expired", { exp: at - 31 }],
      ["that is not valid yet", { nbf: at + 31 }],
      ["from the future", { iat: at + 31 }],
      ["without a subject", { sub: "" }],
      ["without an end", { exp: undefined }],
      ["without a beginning", { iat: undefined }],
      ["with a subject that is no text", { sub: 7 }],
      ["with an endless subject", { sub: "x".repeat(2_000) }],
      ["from before there were tokens", { iat: -1 }],
      ["from before there was anything", { iat: -1e18 }],
      ["with an end that is no number", { exp: "9999999999" }],
    ];
    for (const [name, claims] of wrong) {
      const { status, body } = await as(claims);
      expect([name, status, Object(body).code]).toEqual([name, 401, "unauthenticated"]);
      const [, payload = ""] = (await issuer.token(claims, { at })).split(".");
      expect(logged.join("\n")).not.toContain(payload);
    }
  });

  test("is accepted within the allowed difference of the clocks", async () => {
    const { as } = await open();
    expect((await as({ exp: at - 29 })).status).toBe(200);
    expect((await as({ nbf: at + 29 })).status).toBe(200);
  });

  test("is accepted with an end beyond all calendars, also after an ordinary one", async () => {
    const { as } = await open();
    for (const exp of [at * 1_000, 8.64e12, 1e18, Number.MAX_VALUE]) {
      expect([exp, (await as({ exp, sub: "eve" })).status]).toEqual([exp, 200]);
      expect([exp, (await as({ sub: "eve" })).status]).toEqual([exp, 200]);
    }
  });

  test("gives no access where its tenant claim is not mapped to one tenant", async () => {
    const { as } = await open();
    const wrong: readonly (readonly [string, Claims])[] = [
      ["that is not mapped", { org: "initech" }],
      ["that is missing", { org: undefined }],
      ["that every object has", { org: "constructor" }],
      ["that is a prototype", { org: "__proto__" }],
      ["that is an object", { org: { toString: "acme-inc" } }],
      ["of two tenants", { org: ["acme-inc", "globex-inc"] }],
    ];
    for (const [name, claims] of wrong) {
      const { status, body } = await as(claims);
      expect([name, status, Object(body).code]).toEqual([name, 403, "forbidden"]);
    }
  });

  test("is refused unless an allowed algorithm and a key of the issuer signed it", async () => {
    const { issuer, served } = await open();
    const [key] = issuer.keys;
    const right = await issuer.token({}, { at });
    expect((await served.ask("GET", SELF, { as: right })).status).toBe(200);
    const [, payload = "", signature = ""] = right.split(".");
    const text = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const spki = await exportSPKI((await importJWK(key?.jwk ?? {}, "ES256", { extractable: true })) as never);
    const hmac = (secret: string, header: object) => {
      const signed = `${text(header)}.${payload}`;
      return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
    };
    const kid = key?.kid;
    const stranger = await Issuer.open(onTestFinished);
    const [foreign] = stranger.keys;
    if (!foreign) throw new Error("no key");
    const weak = await issuer.token({}, { at });
    const attacks = {
      "alg none": `${text({ alg: "none" })}.${payload}.`,
      "alg none, padded": `${text({ alg: "none", kid })}.${payload}.AA`,
      "alg nOnE": `${text({ alg: "nOnE", kid })}.${payload}.${signature}`,
      "HS256 with the public key": hmac(spki, { alg: "HS256", kid }),
      "HS256 with the JWK": hmac(JSON.stringify(key?.jwk), { alg: "HS256", kid }),
      "another key under the same kid": await issuer.token({}, { at, key: { ...foreign, kid: kid ?? "" } }),
      "a key in the header": await issuer.token({}, { at, key: foreign, header: { jwk: foreign.jwk } }),
      "an address of keys in the header": await issuer.token(
        {},
        {
          ...{ at, key: foreign },
          header: { jku: `${stranger.address}/keys`, x5u: `${stranger.address}/keys` },
        },
      ),
      "a kid that is a path": await issuer.token(
        {},
        { at, key: foreign, header: { kid: "../../../dev/null" } },
      ),
      "a kid that is SQL": await issuer.token({}, { at, key: foreign, header: { kid: "' OR 1=1 --" } }),
      "a kid that is a prototype": await issuer.token({}, { at, key: foreign, header: { kid: "__proto__" } }),
      "an unknown critical extension": await issuer
        .token({}, { at, header: { crit: ["exp"], exp: 1 } })
        .catch(() => "a.b.c"),
      "the type of a logout": await issuer.token({}, { at, header: { typ: "logout+jwt" } }),
      "another payload": right.replace(
        payload,
        text({ ...JSON.parse(Buffer.from(payload, "base64url").toString()), sub: "root" }),
      ),
      "a signature cut off": weak.slice(0, -4),
      "no signature": `${right.split(".").slice(0, 2).join(".")}.`,
      "not JSON": "a.b.c",
    };
    for (const [name, token] of Object.entries(attacks)) {
      const { status, headers } = await served.ask("GET", SELF, { as: token });
      expect([name, status, headers["content-type"]]).toEqual([name, 401, "application/problem+json"]);
    }
    expect(stranger.asked).toEqual([]);
  });

  test("with another algorithm than the settings allow is refused", async () => {
    const { as, issuer } = await open({ algorithms: ["RS256"] });
    expect((await as()).status).toBe(401);
    await issuer.rotate("RS256");
    // A key that is not known yet is fetched only after a while.
    const other = await open({ algorithms: ["RS256"] }, { issuer });
    expect((await other.as()).status).toBe(200);
  });

  test("keeps tokens out of the ledger and the log", async () => {
    const { issuer, served, logged } = await open();
    const token = await issuer.token({ email: "ann@example.com", name: "Ann" }, { at });
    expect((await served.ask("GET", SELF, { as: token })).status).toBe(200);
    const database = await readFile(join(served.harness.home, "reins.db-wal"), "latin1");
    for (const part of token.split(".")) {
      expect(database).not.toContain(part);
      expect(logged.join("\n")).not.toContain(part);
    }
    const { body } = await served.ask("GET", "/v1/ledger?order=newest&limit=1");
    expect(JSON.stringify(body)).toContain("user_admitted");
    expect(JSON.stringify(body)).not.toContain("ann@example.com");
  });
});

describe("the keys of an issuer", () => {
  test("are cached, and fetched again for a new key, once in a while", async () => {
    const { as, issuer, clock, served } = await open();
    const count = () => issuer.asked.filter((path) => path === "/keys").length;
    await Promise.all(Array.from({ length: 20 }, () => as()));
    expect(count()).toBe(1);
    const old = await issuer.token({}, { at });
    await issuer.rotate();
    for (let n = 0; n < 10; n += 1) expect((await as()).status).toBe(401);
    expect(count()).toBe(1);
    clock.advance(31_000);
    expect((await as()).status).toBe(200);
    expect(count()).toBe(2);
    expect((await served.ask("GET", SELF, { as: old })).status).toBe(401);
    expect(count()).toBe(2);
  });

  test("count for a while when the issuer does not answer, and then no more", async () => {
    const { as, issuer, clock } = await open();
    expect((await as({ exp: at + 9_000 })).status).toBe(200);
    issuer.instead = (_, response) => {
      response.writeHead(500);
      response.end();
      return true;
    };
    clock.advance(11 * 60_000);
    expect((await as({ exp: at + 9_000 })).status).toBe(200);
    clock.advance(60 * 60_000);
    const answer = await as({ exp: at + 9_000 });
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": "10" } });
    const { length } = issuer.asked;
    for (let n = 0; n < 10; n += 1) expect((await as({ exp: at + 9_000 })).status).toBe(503);
    expect(issuer.asked.length).toBe(length);
  });

  test.each<readonly [string, (issuer: Issuer, other: Issuer) => Issuer["instead"]]>([
    [
      "of ten megabytes",
      () =>
        ({ url }, response) => {
          if (url !== "/keys") return false;
          response.end(`{"keys":[${'{"kty":"x"},'.repeat(900_000)}{}]}`);
          return true;
        },
    ],
    [
      "that are no JSON",
      () => (_, response) => {
        response.end("<html>");
        return true;
      },
    ],
    [
      "behind a redirect to another host",
      (_, other) =>
        ({ url }, response) => {
          response.writeHead(302, { location: `${other.address}${url}` });
          response.end();
          return true;
        },
    ],
    [
      "of another issuer",
      (_, other) =>
        ({ url }, response) => {
          if (url === "/keys") return false;
          response.end(JSON.stringify({ issuer: other.address, jwks_uri: `${other.address}/keys` }));
          return true;
        },
    ],
    [
      "at an address that is not safe",
      (issuer) =>
        ({ url }, response) => {
          if (url === "/keys") return false;
          response.end(JSON.stringify({ issuer: issuer.address, jwks_uri: "http://169.254.169.254/keys" }));
          return true;
        },
    ],
    ["that never come", () => () => true],
  ])("%s are not used", async (_, instead) => {
    const other = await Issuer.open(onTestFinished);
    const { as, issuer, served } = await open();
    issuer.instead = instead(issuer, other);
    const asking = as();
    // Others are answered meanwhile.
    expect((await served.ask("GET", SELF)).status).toBe(200);
    expect(await asking).toMatchObject({ status: 503, body: { code: "unavailable" } });
    expect(other.asked).toEqual([]);
  });
});

describe("the access of a user of an issuer", () => {
  test("ends a stream when the token expires, and the work some time later", async () => {
    const { issuer, served, clock, as } = await open({ work: 30 });
    const secret = await issuer.token({}, { at });
    const events = await Events.open(served, {}, secret);
    await events.next();
    const { id } = Object((await as()).body);
    const lost = new Promise<string>((resolve) => served.harness.identity.watch({ id }, resolve));
    clock.advance(299_000);
    expect((await served.ask("GET", SELF, { as: secret })).status).toBe(200);
    clock.advance(2_000);
    expect(await events.next()).toBeUndefined();
    expect(await served.harness.identity.current({ id })).toBeDefined();
    clock.advance(30 * 60_000);
    expect(await lost).toContain("expired");
    expect(await served.harness.identity.current({ id })).toBeUndefined();
    expect((await served.ask("GET", SELF, { as: secret })).status).toBe(401);
  });

  test("is not prolonged by a login that is made with the token, nor by one that is made with that", async () => {
    const { issuer, served, clock } = await open();
    const secret = await issuer.token({}, { at });
    /** A cookie that a credential is exchanged for. */
    const login = async (headers: Record<string, string>) => {
      const own = { origin: served.address };
      const made = await ask(served.address, "POST", "/v1/login/codes", { headers: { ...own, ...headers } });
      const { code } = Object(made.body);
      const answer = await ask(served.address, "POST", "/v1/login", { headers: own, body: { code } });
      expect(answer).toMatchObject({ status: 200, body: { expires_at: "2026-11-15T09:05:00.000Z" } });
      return { cookie: String(answer.headers["set-cookie"]).split(";")[0] ?? "" };
    };
    const first = await login({ authorization: `Bearer ${secret}` });
    const second = await login(first);
    const { body } = await ask(served.address, "POST", "/v1/login/codes", {
      headers: { authorization: `Bearer ${secret}` },
    });
    const status = async (headers: Record<string, string>) =>
      (await ask(served.address, "GET", SELF, { headers })).status;
    expect([await status(first), await status(second)]).toEqual([200, 200]);
    clock.advance(301_000);
    expect([await status(first), await status(second)]).toEqual([401, 401]);
    const late = await ask(served.address, "POST", "/v1/login", { body: { code: Object(body).code } });
    expect(late.status).toBe(401);
  });

  test("ends for good when an admin removes the user, until it is added again", async () => {
    const { as, served, clock } = await open();
    await as();
    const user = { id: "corp:ann", tenant: "acme" };
    const { identity } = served.harness;
    await identity.removeUser(user);
    expect(await as({ exp: at + 600 })).toMatchObject({ status: 403 });
    clock.advance(1_000);
    await identity.addUser({
      ...user,
      name: "Ann",
      email: "ann@example.com",
      roles: ["admin"],
      scopes: ["*"],
    });
    expect(await as()).toMatchObject({ status: 200, body: { roles: [] } });
  });

  test("ends when the token that stands for it is revoked", async () => {
    const { as, served } = await open();
    const { id } = Object((await as()).body);
    await served.harness.identity.revokeToken(id);
    expect(await as({ exp: at + 900 })).toMatchObject({ status: 403 });
  });

  test("needs another token when the settings of its issuer have changed", async () => {
    const home = await newHome();
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const issuer = await Issuer.open(onTestFinished);
    const settings = issuer.settings();
    const first = await openHarness(home, { origins: [originOf(settings)] });
    const served = await Served.open(first.harness, { oidc: [settings], onEnd: () => undefined });
    const { body } = await served.ask("GET", SELF, { as: await issuer.token({ groups: ["reviewers"] }) });
    const { id } = Object(body);
    expect(await first.harness.identity.current({ id })).toMatchObject({ roles: ["approver"] });
    await served.gateway.close();
    await first.close();
    const same = await openHarness(home, { origins: [originOf(settings)] });
    expect(await same.harness.identity.current({ id })).toMatchObject({ roles: ["approver"] });
    await same.close();
    const changed = await openHarness(home, { origins: [originOf(issuer.settings({ grants: [] }))] });
    expect(await changed.harness.identity.current({ id })).toBeUndefined();
    await changed.close();
    const none = await openHarness(home);
    expect(await none.harness.identity.current({ id })).toBeUndefined();
    await none.close();
  });

  test("is not taken from a user that was there before", async () => {
    const { as, served } = await open();
    await served.harness.identity.addUser({
      ...{ id: "corp:ann", tenant: "acme", name: "Ann", email: "ann@example.com" },
      ...{ roles: ["admin"], scopes: ["*"] },
    });
    expect(await as()).toMatchObject({ status: 403 });
  });
});

describe("the login of a browser", () => {
  const own = (served: Served) => ({ origin: served.address });
  const cookieOf = (headers: NodeJS.Dict<string | string[]>) =>
    String(headers["set-cookie"]).split(";")[0] ?? "";

  async function begin({ served }: Opened) {
    const begun = await ask(served.address, "POST", "/v1/login/oidc", {
      headers: own(served),
      body: { issuer: "corp" },
    });
    return { begun, url: String(Object(begun.body).url), cookie: cookieOf(begun.headers) };
  }

  function finish({ served }: Opened, back: URL, cookie: string, more: object = {}) {
    const { code, state } = Object.fromEntries(back.searchParams);
    const headers = { ...own(served), cookie };
    return ask(served.address, "POST", "/v1/login/oidc/answer", { headers, body: { code, state, ...more } });
  }

  test("goes to the issuer and comes back with a cookie", async () => {
    const opened = await open();
    const { issuer, served, clock } = opened;
    issuer.claims = { iat: at, exp: at + 300, groups: ["reviewers"] };
    expect((await ask(served.address, "GET", "/v1/login/methods")).body).toEqual({ oidc: ["corp"] });
    const { url, cookie, begun } = await begin(opened);
    expect(String(begun.headers["set-cookie"])).toMatch(/HttpOnly; SameSite=Strict/);
    const asked = new URL(url).searchParams;
    expect(Object.fromEntries(asked)).toMatchObject({
      ...{ tenant: "x", response_type: "code", client_id: CLIENT, code_challenge_method: "S256" },
      ...{ scope: "openid profile email", redirect_uri: `${served.address}/ui/` },
    });
    const back = await issuer.authorize(url);
    const answer = await finish(opened, back, cookie);
    expect(answer).toMatchObject({ status: 200, body: { expires_at: "2026-11-15T17:00:00.000Z" } });
    const login = { headers: { cookie: cookieOf(answer.headers) } };
    const self = await ask(served.address, "GET", SELF, login);
    expect(self.body).toMatchObject({ user: "corp:ann", tenant: "acme", roles: ["approver"] });
    // A code works once.
    expect((await finish(opened, back, cookie)).status).toBe(401);
    clock.advance(8 * 3_600_000 + 1);
    expect((await ask(served.address, "GET", SELF, login)).status).toBe(401);
  });

  test("is refused to a browser that did not begin it", async () => {
    const opened = await open();
    const { issuer, served } = opened;
    issuer.claims = { iat: at, exp: at + 300 };
    const { url, cookie } = await begin(opened);
    const other = await begin(opened);
    const back = await issuer.authorize(url);
    for (const shown of ["", other.cookie, cookie.replace(/=.*/, "="), `${cookie.split("=")[0]}=x`])
      expect(await finish(opened, back, shown)).toMatchObject({
        status: 401,
        body: { code: "unauthenticated" },
      });
    expect((await finish(opened, back, cookie, { state: "corp.x" })).status).toBe(401);
    expect((await finish(opened, back, cookie, { state: "__proto__.x" })).status).toBe(404);
    expect((await finish(opened, back, cookie, { iss: "https://other.example" })).status).toBe(401);
    expect((await finish(opened, back, cookie, { code: "guess" })).status).toBe(401);
    // Another site cannot have a browser send it.
    const foreign = { headers: { origin: "https://evil.example", cookie }, body: { issuer: "corp" } };
    expect((await ask(served.address, "POST", "/v1/login/oidc", foreign)).status).toBe(403);
    expect((await ask(served.address, "POST", "/v1/login/oidc/answer", foreign)).status).toBe(403);
    expect((await finish(opened, back, cookie)).status).toBe(200);
  });

  test("is refused with a token that is not of this login", async () => {
    const opened = await open();
    const wrong: readonly (readonly [string, Claims])[] = [
      ["for another client", { aud: "another" }],
      ["for an API", { aud: AUDIENCE }],
      ["for several clients", { aud: [CLIENT, "another"] }],
      ["of another party", { azp: "another" }],
      ["of another login", { nonce: "another" }],
      ["without a login", { nonce: undefined }],
      ["that has expired", { exp: at - 100 }],
    ];
    for (const [name, claims] of wrong) {
      opened.issuer.claims = { iat: at, exp: at + 300, ...claims };
      const { url, cookie } = await begin(opened);
      const { status } = await finish(opened, await opened.issuer.authorize(url), cookie);
      expect([name, status]).toEqual([name, 401]);
    }
  });

  test("goes nowhere but to the issuer and back to the page of the host that was asked", async () => {
    const opened = await open();
    const { served } = opened;
    const asked = (body: object, headers: object = {}) =>
      ask(served.address, "POST", "/v1/login/oidc", { headers: { ...own(served), ...headers }, body });
    expect((await asked({ issuer: "corp", redirect_uri: "https://evil.example" })).status).toBe(400);
    expect((await asked({ issuer: "https://evil.example" })).status).toBe(404);
    expect((await asked({ issuer: "corp" }, { host: "evil.example" })).status).toBe(403);
    const forwarded = await asked({ issuer: "corp" }, { "x-forwarded-host": "evil.example" });
    expect(String(Object(forwarded.body).url)).not.toContain("evil");
  });

  test("is not offered by an issuer without a client", async () => {
    const { served } = await open({ client_id: undefined });
    expect((await ask(served.address, "GET", "/v1/login/methods")).body).toEqual({ oidc: [] });
    const body = { issuer: "corp" };
    expect((await ask(served.address, "POST", "/v1/login/oidc", { headers: own(served), body })).status).toBe(
      404,
    );
  });
});

test("an issuer is reached over https, or on this machine", async () => {
  const issuer = await Issuer.open(onTestFinished);
  for (const address of [
    "http://issuer.example",
    "https://a:b@issuer.example",
    "ftp://127.0.0.1",
    "nothing",
    "https://x/#y",
  ])
    expect(() => issuer.settings({ issuer: address })).toThrow("an https address");
  expect(() => issuer.settings({ algorithms: ["HS256"] })).toThrow();
  expect(() => issuer.settings({ algorithms: ["none"] })).toThrow();
});
