import { describe, expect, it, vi } from "vitest";
import { HostSkills } from "./host-skills.ts";

const signal = new AbortController().signal;
/** A host that answers each method in turn; errors are thrown. */
function hostOf(replies: Readonly<Record<string, readonly unknown[]>>) {
  const left = new Map(Object.entries(replies).map(([method, list]) => [method, [...list]]));
  const request = vi.fn(async (method: string, _params: unknown) => {
    const list = left.get(method) ?? [];
    const reply = list.length > 1 ? list.shift() : list[0];
    if (reply instanceof Error) throw reply;
    return reply;
  });
  return { request, skills: new HostSkills(request) };
}
const DEPLOY = { id: "deploy", name: "deploy", description: "Ship it", source: "host" };
const REVIEW = { id: "acme/ops/review", name: "review", description: "Code review", source: "host" };
const named = async (reply: unknown) => (await hostOf({ "skills/list": [reply] }).skills.list(signal)).skills;

describe("skills/list", () => {
  it.each([
    ["a list", [DEPLOY, REVIEW]],
    ["skills", { skills: [DEPLOY, REVIEW] }],
    ["a list in an envelope", { result: [DEPLOY, REVIEW] }],
    ["skills in an envelope", { result: { skills: [DEPLOY, REVIEW] } }],
    ["both, of which the wrapped one counts", { skills: [], result: { skills: [DEPLOY, REVIEW] } }],
  ])("is read from %s", async (_, reply) => {
    expect(await named(reply)).toMatchObject([
      { id: "deploy", name: "deploy", layer: "host", origin: "deploy", trust: { status: "advisory" } },
      { id: "acme/ops/review", name: "review", namespace: "acme/ops", origin: "acme/ops/review" },
    ]);
  });

  it("is not asked for where no client offers it, and is once one does", async () => {
    const request = vi.fn(async () => [DEPLOY]);
    let isOffered = false;
    const skills = new HostSkills(request, () => isOffered);
    expect([await skills.list(signal), request.mock.calls]).toEqual([{ skills: [], warnings: [] }, []]);
    isOffered = true;
    expect((await skills.list(signal)).skills).toHaveLength(1);
  });

  it("is asked for without parameters", async () => {
    const { request, skills } = hostOf({ "skills/list": [[]] });
    await skills.list(signal);
    expect(request).toHaveBeenCalledWith("skills/list", {}, signal);
  });

  it("drops entries without a name or with one that cannot be used, and warns", async () => {
    const odd = [
      { id: "x" },
      { name: "" },
      { name: 5 },
      null,
      "deploy",
      { name: "../x" },
      { name: "a b" },
      [DEPLOY],
    ];
    const { skills, warnings } = await hostOf({ "skills/list": [[...odd, DEPLOY]] }).skills.list(signal);
    expect(skills.map(({ id }) => id)).toEqual(["5", "deploy"]);
    expect(warnings).toHaveLength(odd.length - 1);
  });

  it("takes an id that is no name as the host's own", async () => {
    expect(await named([{ ...DEPLOY, id: "urn:skill:42" }])).toMatchObject([
      { id: "deploy", origin: "urn:skill:42" },
    ]);
  });

  it.each([[{}], [null], ["deploy"], [{ result: { tools: [] } }], [new Error("no")]])(
    "that is %j becomes a warning",
    async (reply) => {
      const { skills, warnings } = await hostOf({ "skills/list": [reply] }).skills.list(signal);
      expect(skills).toEqual([]);
      expect(warnings).toEqual([{ source: "skills/list", message: expect.any(String) }]);
    },
  );

  it("of a host that does not know it is not asked again until it reports a change", async () => {
    const missing = Object.assign(new Error("unknown"), { code: "no_host" });
    const { request, skills } = hostOf({ "skills/list": [missing, [DEPLOY]] });
    expect(await skills.list(signal)).toEqual({ skills: [], warnings: [] });
    expect(await skills.list(signal)).toEqual({ skills: [], warnings: [] });
    expect(request).toHaveBeenCalledTimes(1);
    skills.invalidate();
    expect((await skills.list(signal)).skills).toHaveLength(1);
  });

  it("is asked again after an error", async () => {
    const { skills } = hostOf({ "skills/list": [new Error("down"), [DEPLOY]] });
    expect((await skills.list(signal)).skills).toHaveLength(0);
    expect((await skills.list(signal)).skills).toHaveLength(1);
  });

  it("takes a thousand skills of a host that sends more", async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => ({ name: `s${index}` }));
    expect(await named(many)).toHaveLength(1_000);
  });
});

describe("skills/fetch", () => {
  const FIELDS = {
    when_to_use: "When shipping",
    allowed_tools: ["bash", "git"],
    paths: ["infra/**"],
    model: "claude-opus-4-7",
  };
  const BODY = "# Deploy runbook\n...";
  const READ = {
    whenToUse: "When shipping",
    allowedTools: ["bash", "git"],
    paths: ["infra/**"],
    model: FIELDS.model,
  };

  async function fetched(...replies: readonly unknown[]) {
    const { request, skills } = hostOf({ "skills/list": [[REVIEW]], "skills/fetch": replies });
    const [skill] = (await skills.list(signal)).skills;
    return { request, skills, fetch: () => skills.fetch(skill!, signal) };
  }

  it.each([
    ["a manifest", { ...DEPLOY, body: BODY, manifest: FIELDS }],
    ["a flattened manifest", { ...DEPLOY, body: BODY, ...FIELDS }],
    ["an envelope", { result: { ...DEPLOY, body: BODY, manifest: FIELDS } }],
    ["a manifest over flattened fields", { ...DEPLOY, body: BODY, model: "other", manifest: FIELDS }],
  ])("is read with %s", async (_, reply) => {
    const { request, fetch } = await fetched(reply);
    expect(await fetch()).toMatchObject({ body: BODY, skill: { id: "acme/ops/review", ...READ } });
    expect(request).toHaveBeenLastCalledWith("skills/fetch", { id: "acme/ops/review" }, signal);
  });

  it("is asked for once, when needed, and again after skills/update", async () => {
    const { request, skills, fetch } = await fetched({ body: "one" }, { body: "two" });
    expect(request).toHaveBeenCalledTimes(1);
    await Promise.all([fetch(), fetch()]);
    expect((await fetch()).body).toBe("one");
    expect(request).toHaveBeenCalledTimes(2);
    skills.invalidate();
    // It counts at the next turn boundary.
    expect((await fetch()).body).toBe("one");
    await skills.list(signal);
    expect((await fetch()).body).toBe("two");
  });

  it("keeps what it has of a version that stays the same", async () => {
    const versioned = (version: string) => [{ ...DEPLOY, version }];
    const { skills } = hostOf({
      "skills/list": [versioned("1"), versioned("1"), versioned("2")],
      "skills/fetch": [{ body: "one" }, { body: "two" }],
    });
    const body = async () => {
      const [skill] = (await skills.list(signal)).skills;
      return (await skills.fetch(skill!, signal)).body;
    };
    expect(await body()).toBe("one");
    skills.invalidate();
    expect(await body()).toBe("one");
    skills.invalidate();
    expect(await body()).toBe("two");
  });

  it.each([
    ["an error", new Error("gone")],
    ["no body", { name: "deploy" }],
    ["a body that is no text", { body: 5 }],
    ["a huge body", { body: "x".repeat(300_000) }],
    ["tools that are malformed", { body: "x", allowed_tools: "a\u202Eb" }],
    ["a list", []],
    ["null", null],
  ])("with %s fails, and is not asked for again", async (_, reply) => {
    const { request, fetch } = await fetched(reply);
    await expect(fetch()).rejects.toMatchObject({ name: "SkillError" });
    await expect(fetch()).rejects.toMatchObject({ name: "SkillError" });
    expect(request).toHaveBeenCalledTimes(2);
  });

  it("cannot make itself trusted or another skill", async () => {
    const { fetch } = await fetched({
      body: "x",
      id: "other",
      name: "other",
      trust: "trusted",
      layer: "cli",
    });
    expect(await fetch()).toMatchObject({
      skill: { id: "acme/ops/review", name: "review", layer: "host", trust: { status: "advisory" } },
    });
  });
});
