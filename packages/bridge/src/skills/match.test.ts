import { describe, expect, it, vi } from "vitest";
import { skillWith } from "../../test/skills.ts";
import { MATCH_DEFAULTS, type MatchSettings, matchSkills, SkillActivation } from "./match.ts";

const ship = skillWith({
  id: "ship",
  description: "Ship a production release",
  whenToUse: "User says ship/release/deploy",
  paths: ["infra/**", "Dockerfile"],
});
const review = skillWith({
  id: "review",
  description: "Review existing code for correctness",
  whenToUse: "User asks to review/audit",
});
const hidden = skillWith({ id: "hidden", description: "Ship release", disableModelInvocation: true });
const prompt = "Ship the new release to production";
const signal = new AbortController().signal;

async function matched(reply: unknown, settings: Partial<MatchSettings> = {}) {
  const host = vi.fn(async () => {
    if (reply instanceof Error) throw reply;
    return reply;
  });
  const request = {
    ...{ skills: [ship, review, hidden], prompt, workingFiles: ["infra/terraform/cluster.tf"], host },
    settings: { ...MATCH_DEFAULTS, strategy: "host", topN: 3, ...settings },
  };
  const { matches, warnings } = await matchSkills(request, signal);
  return { host, warnings, matches: matches.map(({ skill, score, reason }) => [skill.id, score, reason]) };
}

describe("skill/match", () => {
  it("sends the seed's request, without skills that only a person may use", async () => {
    const { host } = await matched([]);
    expect(host).toHaveBeenCalledWith(
      "skill/match",
      {
        strategy: "host",
        prompt,
        working_files: ["infra/terraform/cluster.tf"],
        candidates: [
          {
            name: "ship",
            description: "Ship a production release",
            when_to_use: "User says ship/release/deploy",
            paths: ["infra/**", "Dockerfile"],
          },
          {
            name: "review",
            description: "Review existing code for correctness",
            when_to_use: "User asks to review/audit",
            paths: [],
          },
        ],
      },
      signal,
    );
    expect((await matched([], { strategy: "embedding" })).host).toHaveBeenCalledWith(
      "skill/match",
      expect.objectContaining({ strategy: "embedding" }),
      signal,
    );
  });

  const ONE = { name: "ship", score: 0.92, reason: "matched by embedding similarity" };
  it.each([
    ["matches", { matches: [ONE] }],
    ["a list", [ONE]],
    ["skills", { skills: [ONE] }],
    ["an envelope", { result: { matches: [ONE] } }],
    ["an envelope with skills", { result: { skills: [ONE] } }],
    ["an envelope with a list", { result: [ONE] }],
    [
      "two shapes, of which the wrapped one counts",
      { matches: [{ name: "review" }], result: { matches: [ONE] } },
    ],
  ])("reads %s", async (_, reply) => {
    expect((await matched(reply)).matches).toEqual([["ship", 0.92, "matched by embedding similarity"]]);
  });

  it("fills in the score and the reason", async () => {
    const reply = [{ name: "ship" }, { name: "review", score: null, reason: "" }];
    expect((await matched(reply)).matches).toEqual([
      ["ship", 1, "host match"],
      ["review", 1, "host match"],
    ]);
  });

  it("drops negative and unusable scores, and names that were no candidates, before it counts", async () => {
    const reply = [
      { name: "unknown", score: 9 },
      { name: "hidden", score: 8 },
      { name: "ship", score: -1 },
      { name: "ship", score: Number.NaN },
      { name: "ship", score: Number.POSITIVE_INFINITY },
      { name: "ship", score: "5" },
      { score: 3 },
      null,
      { name: "review", score: 0 },
    ];
    const { matches, warnings } = await matched(reply, { topN: 1 });
    expect(matches).toEqual([["review", 0, "host match"]]);
    expect(warnings).toEqual([
      { source: "agent.skill_match", message: "8 of the host's matches cannot be used" },
    ]);
  });

  it("ranks by score, takes the first, and each once", async () => {
    const reply = [
      { name: "review", score: 0.2 },
      { name: "ship", score: 0.5 },
      { name: "review", score: 0.9 },
    ];
    expect((await matched(reply)).matches.map(([id]) => id)).toEqual(["review", "ship"]);
    expect((await matched(reply, { topN: 1 })).matches.map(([id]) => id)).toEqual(["review"]);
  });

  it.each([[new Error("down")], [null], ["ship"], [{}], [{ matches: "ship" }], [{ result: { ok: true } }]])(
    "that fails with %j falls back to the ranker, with a warning",
    async (reply) => {
      const { matches, warnings } = await matched(reply);
      expect(matches.map(([id]) => id)).toEqual(["ship"]);
      expect(warnings).toEqual([
        { source: "agent.skill_match", message: expect.stringContaining("the ranker") },
      ]);
    },
  );

  it("falls back without a host", async () => {
    const settings = { ...MATCH_DEFAULTS, strategy: "host" };
    const { matches, warnings } = await matchSkills({ skills: [ship], prompt, settings }, signal);
    expect(matches).toHaveLength(1);
    expect(warnings).toHaveLength(1);
  });

  it("ends with the turn", async () => {
    const aborted = AbortSignal.abort(new Error("cancelled"));
    const host = async () => Promise.reject(new Error("late"));
    const settings = { ...MATCH_DEFAULTS, strategy: "host" };
    await expect(matchSkills({ skills: [ship], prompt, settings, host }, aborted)).rejects.toThrow(
      "cancelled",
    );
  });

  it("is not sent for other strategies; an unknown one is ranked with a warning", async () => {
    const metadata = await matched([], { strategy: "metadata" });
    expect(metadata.host).not.toHaveBeenCalled();
    expect(metadata.warnings).toEqual([]);
    const odd = await matched([], { strategy: "magic" });
    expect(odd.host).not.toHaveBeenCalled();
    expect(odd.warnings).toEqual([{ source: "agent.skill_match", message: "the strategy magic is unknown" }]);
  });
});

const shipping = { skill: skillWith({ id: "ship", allowedTools: ["run_command"] }), reason: "words: ship" };
const reviewing = { skill: skillWith({ id: "review" }), reason: "host match" };

describe("the skills in use", () => {
  it("change with the seed's updates: deactivated first, then activated, then scoped", () => {
    const skills = new SkillActivation();
    expect(skills.change([shipping], 0)).toEqual([
      { sessionUpdate: "skill_activated", skillName: "ship", iteration: 0, reason: "words: ship" },
      { sessionUpdate: "skill_scope_tools", skillName: "ship", allowedTools: ["run_command"] },
    ]);
    expect(skills.change([shipping], 1)).toEqual([]);
    expect(skills.change([reviewing], 2)).toEqual([
      { sessionUpdate: "skill_deactivated", skillName: "ship", iteration: 2 },
      { sessionUpdate: "skill_activated", skillName: "review", iteration: 2, reason: "host match" },
    ]);
    expect(skills.active.map(({ id }) => id)).toEqual(["review"]);
    expect(skills.change([], 3)).toEqual([
      { sessionUpdate: "skill_deactivated", skillName: "review", iteration: 3 },
    ]);
    expect(skills.active).toEqual([]);
  });

  it("can be added to, once each", () => {
    const skills = new SkillActivation();
    skills.change([reviewing], 0);
    expect(skills.add(shipping, 1)).toHaveLength(2);
    expect(skills.add(shipping, 2)).toEqual([]);
    expect(skills.active).toHaveLength(2);
  });
});
