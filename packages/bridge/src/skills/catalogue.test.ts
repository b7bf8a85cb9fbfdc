import { describe, expect, it } from "vitest";
import { skillWith } from "../../test/skills.ts";
import { SkillCatalogue } from "./catalogue.ts";
import { cardText } from "./match.ts";
import { SKILL_LAYERS } from "./skill.ts";

const inLayers = SKILL_LAYERS.toReversed().map((layer) => skillWith({ id: "deploy", layer, origin: layer }));

describe("a catalogue", () => {
  it("takes the skill of the strongest of eight layers and reports the others", () => {
    const { skills, shadowed } = new SkillCatalogue(inLayers);
    expect(skills.map(({ layer }) => layer)).toEqual(["cli"]);
    expect(shadowed.map(({ loser }) => loser)).toEqual(SKILL_LAYERS.slice(1));
    expect(shadowed[0]).toEqual({ id: "deploy", winner: "cli", loser: "env", loserOrigin: "env" });
  });

  it("does not let an untrusted skill hide one that may be used", () => {
    const untrusted = { status: "untrusted", reason: "" } as const;
    const [ours, theirs] = [
      skillWith({ id: "deploy", layer: "user" }),
      skillWith({ id: "deploy", layer: "project", trust: untrusted }),
    ];
    const { skills, shadowed } = new SkillCatalogue([theirs, ours]);
    expect(skills).toEqual([ours]);
    expect(shadowed).toMatchObject([{ winner: "user", loser: "project" }]);
  });

  const others = [
    ["a grant", { status: "trusted", by: "grant", who: "ann" }],
    ["a signature", { status: "trusted", by: "signature", signer: "" }],
    ["a host", { status: "advisory" }],
  ] as const;
  it.each(others)("reports a skill by %s that takes the place of the operator's", (_, trust) => {
    const theirs = skillWith({ id: "deploy", layer: "project", origin: "/w/deploy", trust });
    const { skills, warnings } = new SkillCatalogue([theirs, skillWith({ id: "deploy" })]);
    expect(skills).toEqual([theirs]);
    expect(warnings).toEqual([
      { source: "/w/deploy", message: expect.stringContaining("takes the place of the operator's") },
    ]);
    expect(new SkillCatalogue(inLayers).warnings).toEqual([]);
  });

  it("follows another order; layers that it does not name come after", () => {
    const { skills, shadowed } = new SkillCatalogue(inLayers, [], { lookupOrder: ["host", "user"] });
    expect(skills.map(({ layer }) => layer)).toEqual(["host"]);
    expect(shadowed.map(({ loser }) => loser).slice(0, 3)).toEqual(["user", "cli", "env"]);
  });

  it("leaves disabled layers out", () => {
    const catalogue = new SkillCatalogue(inLayers, [], { disabled: ["cli", "env"] });
    expect(catalogue.skills.map(({ layer }) => layer)).toEqual(["project"]);
    expect(catalogue.disabledLayers).toEqual(["cli", "env"]);
    expect(catalogue.shadowed).not.toContainEqual(expect.objectContaining({ loser: "env" }));
  });

  it("finds qualified names, and bare names that stand for one skill", () => {
    const review = skillWith({ id: "acme/ops/review", namespace: "acme/ops" });
    const other = skillWith({ id: "other/review", namespace: "other" });
    const one = new SkillCatalogue([review]);
    expect(one.find("acme/ops/review")).toBe(review);
    expect(one.find("review")).toBe(review);
    const two = new SkillCatalogue([review, other]);
    expect(() => two.find("review")).toThrow("review is ambiguous: acme/ops/review, other/review");
    expect(two.ambiguous).toEqual([{ name: "review", ids: ["acme/ops/review", "other/review"] }]);
    expect(two.shadowed).toEqual([]);
    const bare = skillWith({ id: "review" });
    expect(new SkillCatalogue([review, other, bare]).find("review")).toBe(bare);
    expect(() => two.find("none\u202E")).toThrow("there is no skill none");
  });
});

it("an untrusted skill takes no name away from one that may be used", () => {
  const trust = { status: "untrusted", reason: "" } as const;
  const ours = skillWith({ id: "acme/review", namespace: "acme" });
  const theirs = [skillWith({ id: "review", trust }), skillWith({ id: "evil/review", trust })];
  const catalogue = new SkillCatalogue([...theirs, ours]);
  expect(catalogue.find("review")).toBe(ours);
  expect(catalogue.find("evil/review").trust).toBe(trust);
});

describe("cards", () => {
  const many = Array.from({ length: 300 }, (_, index) =>
    skillWith({ id: `skill-${index}`, description: `Does ${index}. `.repeat(20), whenToUse: "Often." }),
  );

  it("hold one line for each skill that a model may use", () => {
    const skills = [
      skillWith({ id: "ship", short: "Ship it", whenToUse: "The user says ship" }),
      skillWith({ id: "secret", disableModelInvocation: true }),
    ];
    expect(cardText(skills).split("\n").slice(2)).toEqual(["- ship: Ship it Use when: The user says ship"]);
    expect(cardText(skills.slice(1))).toBe("");
  });

  it.each([20_000, 8_000, 1_000])("stay within %i characters", (budget) => {
    const text = cardText(many, budget);
    expect(text.length).toBeLessThanOrEqual(budget);
    expect(text).toContain("- skill-0");
    const listed = text.split("\n").filter((line) => line.startsWith("- skill-")).length;
    if (listed < many.length) expect(text).toContain(`and ${many.length - listed} more`);
  });
});
