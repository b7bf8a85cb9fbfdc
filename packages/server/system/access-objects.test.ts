import { NAMING, OBJECTS, type Operation, objectCell, RELATIONS } from "@reins/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { agentsForAll } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { everyOperation, serveEverything } from "./fixtures/everything.ts";
import type { Person, Served } from "./fixtures/home.ts";
import { type NamingRequest, ownedObjects } from "./fixtures/objects.ts";

const RULES = `tool_rules:
  - { name: ask, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: all, condition: {}, verdict: allowed }
`;
const home = agentsForAll({ rules: RULES, hosting: { killSocket: true } });

/** Members that name nothing of a caller there, and why. */
const NOT_OWNED: Readonly<Record<string, string>> = {
  "DELETE /v1/acp/{server} {server}": "each caller has its own of a name",
  "POST /v1/acp/{server} {server}": "each caller has its own of a name",
  "GET /opencode/{part} {part}": "the name of an answer",
  "GET /opencode/{part}/{detail} {detail}": "the name of an answer",
  "GET /opencode/{part}/{detail} {part}": "the name of an answer",
  "POST /v1/mailbox/{agent}/read {agent}": "each tenant has its own mailboxes",
  "POST /v1/agents/{agent}/processes/{process}/restart {agent}": "the process decides",
  "GET /v1/memory workspace": "a mark of the caller's own facts",
  "POST /v1/memory workspace": "a mark of the caller's own facts",
  "POST /v1/policy/accept tenant": "nothing waits here; the tenant is found as by reload",
  "POST /v1/policy/explain cwd": "an action that is supposed",
  "GET /v1/nodes/{name} {name}": "a node of the server",
  "POST /v1/nodes/{name}/drain {name}": "a node of the server",
  "POST /v1/roster session_id": "the name of an agent",
  "PATCH /v1/roster/{agent} session_id": "the name of an agent",
  "POST /v1/runs run_id": "a name that the caller chooses",
  "GET /v1/wire session": "nothing is tapped here; the ring's own test filters by tenant",
};

function membersOf(schema: z.ZodType): readonly string[] {
  const { properties = {} } = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
  return Object.keys(properties);
}

/** What an operation names: the parameters of its path, and members of its query and body. */
function namesIn({ method, path, query, body }: Operation): readonly string[] {
  const parameters = [...path.matchAll(/\{\w+\}/g)].map(([parameter]) => parameter);
  const members = [query, body].flatMap(membersOf).filter((member) => NAMING.has(member));
  return [...parameters, ...members].map((name) => `${method} ${path} ${name}`);
}

test("every request that names something has a row, but for streams", () => {
  const named = everyOperation.filter(({ events }) => events === undefined).flatMap(namesIn);
  const rows = [...OBJECTS.keys()].filter((row) => !row.startsWith("POST /v1/fs/move "));
  const moves = named.filter((row) => row.startsWith("POST /v1/fs/move "));
  expect([...rows, ...moves, ...Object.keys(NOT_OWNED)].toSorted()).toEqual(named.toSorted());
});

describe("what belongs to another", () => {
  let served: Served;
  let people: Readonly<Record<(typeof RELATIONS)[number] | "starter", Person>>;
  let make: (row: string) => Promise<NamingRequest>;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    served = await serveEverything(home(), { onEnd: (end) => ends.push(end) });
    people = {
      owner: await served.person(),
      user: await served.person(),
      approver: await served.person({ roles: ["approver"] }),
      admin: await served.person({ roles: ["admin"] }),
      "foreign admin": await served.person({ tenant: "acme", roles: ["admin", "approver"] }),
      operator: { id: "local", secret: served.access.token },
      starter: await served.person({ roles: ["admin"] }),
    };
    await home().harness.policies.refresh();
    make = await ownedObjects(served, home(), people);
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  async function cellOf(row: string, { secret }: Person, isListed: boolean): Promise<unknown> {
    const { path, body, headers, marker = "" } = await make(row);
    const [method = ""] = row.split(" ");
    const authorization = `Bearer ${secret}`;
    const asked = { headers: { authorization, ...headers }, ...(body !== undefined && { body }) };
    const { response } = await begin(served.address, method, path, asked);
    let text = "";
    for await (const part of response) text += part;
    const { statusCode: status = 0 } = response;
    if (status === 403 || status === 404) return status;
    // It was found, and is not in the state for that, or the machine has no sandbox for a command that is allowed.
    const isFound = status === 409 || /has no stored output|run in a sandbox alone/.test(text);
    if (status >= 300 && !isFound) return `${status} ${text}`;
    if (!isListed) return "yes";
    return text.includes(marker) || (method !== "GET" && text === "") ? "yes" : "none";
  }

  test.each([...OBJECTS])("%s is shared as the page says", async (row, sharing) => {
    const found: unknown[] = [];
    const owner = row.includes(" /v1/processes/{id}") ? people.starter : people.owner;
    for (const relation of RELATIONS) {
      const person = relation === "owner" ? owner : people[relation];
      found.push([relation, await cellOf(row, person, sharing.endsWith("list"))]);
    }
    expect(found).toEqual(RELATIONS.map((relation) => [relation, objectCell(sharing, relation)]));
  });
});
