import { describe, expect, it } from "vitest";
import { skillWith } from "../../test/skills.ts";
import { rankSkills } from "./rank.ts";

const skills = [
  skillWith({ id: "test", description: "Writes unit tests", whenToUse: "Coverage is low" }),
  skillWith({ id: "deploy-production", description: "Deploys a build with a canary", paths: ["infra/**"] }),
  skillWith({ id: "invoices", short: "Books bills of suppliers", description: "Reads invoices" }),
  skillWith({ id: "hidden", description: "Deploys a canary", disableModelInvocation: true }),
];
const ranked = (prompt: string, workingFiles: readonly string[] = []) =>
  rankSkills(skills, { prompt, workingFiles }).map(({ skill }) => skill.id);

describe("ranking by what skills say", () => {
  it("knows words by their borders and forms, and counts each once", () => {
    expect(ranked("deploying with canaries")).toEqual(["deploy-production"]);
    expect(ranked("show me the latest attestation")).toEqual([]);
    const [once] = rankSkills(skills, { prompt: "canary" });
    const [often] = rankSkills(skills, { prompt: "canary ".repeat(50) });
    expect(often?.score).toBe(once?.score);
  });

  it("scores what is short", () => {
    expect(ranked("a bill of our supplier")).toEqual(["invoices"]);
  });

  it("takes common words for little", () => {
    expect(ranked("read this")).toEqual([]);
    expect(ranked("with a build")).toEqual(["deploy-production"]);
  });

  it("takes files that a skill is for, and its name where it is meant as one", () => {
    expect(ranked("have a look", ["infra/main.tf"])).toEqual(["deploy-production"]);
    expect(ranked("have a look", ["src/infra.ts"])).toEqual([]);
    expect(ranked("use the invoices skill")[0]).toBe("invoices");
    expect(ranked("/deploy-production now")[0]).toBe("deploy-production");
  });

  it("explains itself", () => {
    const [match] = rankSkills(skills, { prompt: "canary", workingFiles: ["infra/a/b"] });
    expect(match?.reason).toBe("words: canary (description); files: infra/**");
  });

  it("means the same for one skill as for many", () => {
    const one = rankSkills(skills.slice(1, 2), { prompt: "run the canary" });
    expect(one.map(({ skill }) => skill.id)).toEqual(["deploy-production"]);
    expect(rankSkills(skills.slice(1, 2), { prompt: "hello there" })).toEqual([]);
    expect(rankSkills([], { prompt: "x" })).toEqual([]);
  });

  it("never takes a skill that only a person may use", () => {
    expect(ranked("/hidden hidden skill canary")).not.toContain("hidden");
  });
});

describe("ranking many skills that say a lot", () => {
  const filler = "x".repeat(4_000);

  it("reads the first whole, and of those beyond the budget the beginning", () => {
    const many = Array.from({ length: 200 }, (_, index) =>
      skillWith({ id: `s${index}`, short: "", description: `early${index} ${filler} late${index}` }),
    );
    const best = (prompt: string) => rankSkills(many, { prompt }).map(({ skill }) => skill.id);
    expect(best("late0")).toEqual(["s0"]);
    expect(best("late199")).toEqual([]);
    expect(best("early199")).toEqual(["s199"]);
  });

  it("compares files with globs as far as the budget goes", () => {
    const paths = [...Array.from({ length: 127 }, () => "*a".repeat(120)), "infra/**"];
    const many = Array.from({ length: 100 }, (_, index) => skillWith({ id: `s${index}`, paths }));
    const workingFiles = ["infra/a.tf", ...Array.from({ length: 49 }, () => "b".repeat(900))];
    const found = rankSkills([skillWith({ id: "ours", paths: ["infra/**"] }), ...many], {
      ...{ prompt: "go", workingFiles },
    });
    expect(found.map(({ skill }) => skill.id)).toEqual(["ours"]);
  });
});
