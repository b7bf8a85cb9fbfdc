import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Operation, operations, PROBLEMS, Problem } from "@reins/api";
import { problemOf, SupervisorError } from "@reins/supervisor";
import { describe, expect, onTestFinished, test } from "vitest";
import { originOf } from "../src/access/oidc/settings.ts";
import type { Answer } from "./fixtures/ask.ts";
import { Events } from "./fixtures/events.ts";
import { harnessForAll, newHome, openHarness, RULES, Served } from "./fixtures/home.ts";
import { Issuer } from "./fixtures/issuer.ts";

const harness = harnessForAll();

describe("the description of the API", () => {
  test("contains every registered operation", async () => {
    const served = await Served.open(harness());
    const { body } = await served.ask("GET", "/openapi.json");
    const described = Object.entries(Object(body).paths).flatMap(([path, methods]) =>
      Object.keys(Object(methods)).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(described.toSorted()).toEqual(
      operations.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
    expect(body).toMatchObject({ openapi: "3.1.0", info: { title: "Reins", version: "1.2.3" } });
  });

  test("has the titles and statuses of the supervisor's problems", () => {
    for (const code of ["invalid", "forbidden", "not_found", "conflict"] as const) {
      const { status, title } = problemOf(new SupervisorError(code, "why"));
      expect({ status, title }).toEqual(PROBLEMS[code]);
    }
  });
});

/** Logs a browser in by an issuer, and has each response checked. */
async function logInWithIssuer(check: (method: string, path: string, got: Answer) => unknown): Promise<void> {
  const issuer = await Issuer.open(onTestFinished);
  const settings = issuer.settings();
  const home = await newHome();
  const opened = await openHarness(home, { origins: [originOf(settings)] });
  const served = await Served.open(opened.harness, {
    oidc: [settings],
    onEnd: (end) =>
      onTestFinished(async () => {
        await end();
        await opened.close();
        await rm(home, { recursive: true, force: true });
      }),
  });
  const begun = await served.ask("POST", "/v1/login/oidc", { body: { issuer: "corp" } });
  check("POST", "/v1/login/oidc", begun);
  const { searchParams } = await issuer.authorize(Object(begun.body).url);
  const [cookie = ""] = String(begun.headers["set-cookie"]).split(";");
  const body = { code: searchParams.get("code"), state: searchParams.get("state") };
  const path = "/v1/login/oidc/answer";
  check("POST", path, await served.ask("POST", path, { headers: { cookie }, body }));
}

describe("real responses", () => {
  test("of every operation match their schema", async () => {
    const served = await Served.open(harness());
    const { identity, runs } = served.harness;
    const seen = new Set<string>();
    const operationOf = (method: string, path: string): Operation => {
      const segments = path.split("?")[0]?.split("/") ?? [];
      const fits = ({ path: pattern, method: own }: Operation) =>
        own === method &&
        pattern.split("/").length === segments.length &&
        pattern.split("/").every((part, index) => part.startsWith("{") || part === segments[index]);
      const [found] = operations
        .filter(fits)
        .toSorted((one, other) => one.path.indexOf("{") - other.path.indexOf("{"));
      if (!found) throw new Error(`no operation for ${method} ${path}`);
      return found;
    };
    const check = (method: string, path: string, got: Answer) => {
      const { id, status, answer } = operationOf(method, path);
      expect([id, got.status, got.text]).toEqual([id, status, got.text]);
      const fit = answer.safeParse(got.body);
      expect([id, fit.error]).toEqual([id, undefined]);
      // Nothing is lost on the way through the schema.
      expect(fit.data).toEqual(got.body);
      seen.add(id);
      return Object(got.body);
    };
    const ask = async (method: string, path: string, body?: unknown) =>
      check(method, path, await served.ask(method, path, { body }));

    await ask("GET", "/v1/health");
    await ask("POST", "/v1/login", { code: served.access.newCode() });
    await ask("POST", "/v1/login/codes");
    await ask("GET", "/v1/login/methods");
    await logInWithIssuer(check);
    await ask("GET", "/v1/whoami");
    await ask("POST", "/v1/logout");
    await ask("GET", "/openapi.json");

    const events = await Events.open(served);
    await events.next();
    const id = await served.question("real");
    const { data } = (await events.next()) ?? {};
    const stream = operationOf("GET", "/v1/approvals/stream");
    expect(stream.answer.parse(data)).toEqual(data);
    seen.add(stream.id);
    await ask("GET", "/v1/approvals?limit=1");
    await ask("GET", `/v1/approvals/${id}`);
    await ask("POST", `/v1/approvals/${id}/answer`, { decision: "allow_always", note: "fine" });
    const { grants } = await ask("GET", "/v1/grants");
    await ask("DELETE", `/v1/grants/${grants[0].id}`);

    const user = { id: "ann", name: "Ann", email: "ann@example.com", roles: ["dev"], scopes: ["*"] };
    await ask("POST", "/v1/identity/users", user);
    await ask("PATCH", "/v1/identity/users/ann", { name: "Anna" });
    await ask("GET", "/v1/identity/users");
    const token = { user: "ann", role: "dev", agents: ["*"], expires: "2999-01-01T00:00:00Z" };
    const made = await ask("POST", "/v1/identity/tokens", token);
    await ask("GET", "/v1/identity/tokens");
    const principal = await identity.authenticate(made.secret);
    const child = {
      parentSession: "top",
      parentAgent: "coder",
      childAgent: "coder",
      task: "look",
      scopes: [],
    };
    await identity.delegate({ principal: principal!, ...child });
    await ask("GET", "/v1/identity/sessions");
    await ask("DELETE", "/v1/identity/sessions/top");
    await ask("DELETE", `/v1/identity/tokens/${made.id}`);
    await ask("DELETE", "/v1/identity/users/ann");
    await identity.addUser({ ...user, tenant: "doomed" });
    await ask("GET", "/v1/identity/tenants");
    await ask("DELETE", "/v1/identity/tenants/doomed");

    await ask("GET", "/v1/policy");
    await writeFile(
      join(harness().home, "constitution.yaml"),
      RULES.replace("verdict: ask", "verdict: allowed"),
    );
    await ask("POST", "/v1/policy/reload");
    await ask("POST", "/v1/policy/accept");
    for (const path of ["validate", "test", "backtest", "coverage"])
      await ask("POST", `/v1/policy/${path}`, { rules: RULES });
    await ask("POST", "/v1/policy/explain", { event: { tool: "deploy" } });

    const entries = await Events.open(served, { "last-event-id": "0" }, undefined, "/v1/ledger/stream");
    await entries.next();
    const streamed = operationOf("GET", "/v1/ledger/stream");
    const { data: entry } = (await entries.next()) ?? {};
    expect(streamed.answer.parse(entry)).toEqual(entry);
    seen.add(streamed.id);
    const page = await ask("GET", "/v1/ledger?limit=2");
    await ask("GET", `/v1/ledger/entries/${page.entries[0].entry.cid}`);
    await ask("GET", `/v1/ledger/entries/${page.entries[0].entry.cid}/proof`);
    await ask("GET", "/v1/ledger/checkpoint");
    await ask("GET", "/v1/ledger/consistency?from=1");
    await ask("GET", "/v1/ledger/keys");
    const exported = await served.ask("GET", "/v1/ledger/export");
    expect([exported.status, exported.headers["content-type"]]).toEqual([200, "application/x-ndjson"]);
    seen.add("export_ledger");
    const audited = await served.ask("GET", "/v1/audit?limit=1");
    expect([audited.status, audited.headers["content-type"]]).toEqual([200, "application/x-ndjson"]);
    seen.add("pull_audit");

    await ask("GET", "/v1/roster");
    await ask("POST", "/v1/roster", { session_id: "newt", kind: "role", state: "live", more: [1] });
    await ask("PATCH", "/v1/roster/newt", { state: null });
    const run = {
      run_id: "r",
      session_id: "s",
      updated_at: "2026-01-01T00:00:00Z",
      status: "created",
    } as const;
    await runs.note(served.harness.identity.local(), "run_lifecycle", run);
    await ask("GET", "/v1/runs");
    await ask("GET", "/v1/runs/r");
    await ask("GET", "/v1/runs/r/events");
    const runEvents = await Events.open(served, { "last-event-id": "0" }, undefined, "/v1/runs/stream");
    const { data: runEvent } = (await runEvents.take(2))[1] ?? {};
    const runStream = operationOf("GET", "/v1/runs/stream");
    expect(runStream.answer.parse(runEvent)).toEqual(runEvent);
    seen.add(runStream.id);

    expect(operations.map((operation) => operation.id).filter((name) => !seen.has(name))).toEqual([]);
  });

  test("that reject a request are problems", async () => {
    const served = await Served.open(harness());
    for (const path of ["/v1/approvals/none", "/v1/runs/none", "/v1/approvals?limit=x", "/none"])
      Problem.parse((await served.ask("GET", path)).body);
  });
});
