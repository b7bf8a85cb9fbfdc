import { describe, expect, it } from "vitest";
import { skillWith } from "../../test/skills.ts";
import { SkillActivation } from "./activation.ts";

const ship = { skill: skillWith({ id: "ship", allowedTools: ["run_command"] }), reason: "words: ship" };
const review = { skill: skillWith({ id: "review" }), reason: "host match" };

describe("the skills in use", () => {
  it("change with the seed's updates: deactivated first, then activated, then scoped", () => {
    const skills = new SkillActivation();
    expect(skills.change([ship], 0)).toEqual([
      { sessionUpdate: "skill_activated", skillName: "ship", iteration: 0, reason: "words: ship" },
      { sessionUpdate: "skill_scope_tools", skillName: "ship", allowedTools: ["run_command"] },
    ]);
    expect(skills.change([ship], 1)).toEqual([]);
    expect(skills.change([review], 2)).toEqual([
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
    skills.change([review], 0);
    expect(skills.add(ship, 1)).toHaveLength(2);
    expect(skills.add(ship, 2)).toEqual([]);
    expect(skills.active).toHaveLength(2);
  });
});
