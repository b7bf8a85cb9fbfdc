import { describe, expect, it } from "vitest";
import { parseSkillFile } from "./skill-file.ts";

describe("a SKILL.md", () => {
  it("of the ecosystem needs a name and a description; short is the first sentence", () => {
    const { name, fields, body, warnings } = parseSkillFile(
      "---\nname: pdf\ndescription: Fills forms. Use it for PDFs.\nlicense: MIT\n---\n\n# PDF\n\nDo it.\n",
    );
    expect(name).toBe("pdf");
    expect(fields).toMatchObject({ short: "Fills forms.", description: "Fills forms. Use it for PDFs." });
    expect(fields).toMatchObject({ disableModelInvocation: false, userInvocable: true, allowedTools: [] });
    expect(body).toBe("# PDF\n\nDo it.");
    expect(warnings).toEqual([]);
  });

  it("has every field of the reference, with hyphens or underscores", () => {
    const { fields, warnings } = parseSkillFile(
      [
        "---",
        "name: ship",
        "short: Ship it",
        "description: Ships a release",
        "when-to-use: The user says ship",
        "disable-model-invocation: true",
        "allowed-tools: [run_command, 'namespace:git', \"*\"]",
        "user_invocable: false",
        "paths: infra/**, Dockerfile",
        "context: fork",
        "agent: native",
        "hooks:",
        "  - { event: start, command: make }",
        "  - { name: end, run: make clean }",
        "model: claude-opus-4-7",
        "effort: high",
        "require_signature: true",
        `trusted_signers: ["${"a".repeat(64)}"]`,
        "shell: bash",
        "argument-hint: '[version]'",
        "---",
        "body",
      ].join("\n"),
    );
    expect(fields).toEqual({
      short: "Ship it",
      description: "Ships a release",
      whenToUse: "The user says ship",
      disableModelInvocation: true,
      userInvocable: false,
      allowedTools: ["run_command", "namespace:git", "*"],
      paths: ["infra/**", "Dockerfile"],
      hooks: [
        { event: "start", command: "make" },
        { event: "end", command: "make clean" },
      ],
      requireSignature: true,
      trustedSigners: ["a".repeat(64)],
      argumentHint: "[version]",
      context: "fork",
      agent: "native",
      model: "claude-opus-4-7",
      effort: "high",
      shell: "bash",
    });
    expect(warnings).toEqual(["its hooks are shown and not run"]);
  });

  it.each([
    ["a byte order mark", "\uFEFF---\nname: a\n---\nbody"],
    ["carriage returns", "---\r\nname: a\r\n---\r\nbody\r\n"],
    ["old line ends", "---\rname: a\r---\rbody"],
    ["spaces behind the marks", "---  \nname: a\n--- \nbody"],
  ])("reads the same with %s", (_, text) => {
    expect(parseSkillFile(text)).toMatchObject({ name: "a", body: "body" });
  });

  it.each([
    ["without front matter", "# Just text"],
    ["with front matter that does not end", "---\nname: a\n# text"],
    ["with front matter further down", "text\n---\nname: a\n---"],
  ])("%s is all body", (_, text) => {
    expect(parseSkillFile(text)).toMatchObject({ name: undefined, body: text, warnings: [] });
  });

  it("reads the tools that other harnesses pre-approve by their names", () => {
    const { fields } = parseSkillFile("---\nallowed-tools: Bash(git add:*), Read Grep\n---\n");
    expect(fields.allowedTools).toEqual(["Bash", "Read", "Grep"]);
  });

  it("warns about unknown keys and odd values, and keeps the rest", () => {
    const { fields, warnings } = parseSkillFile(
      "---\ndescription: d\nfoo: 1\npaths: 5\nuser_invocable: maybe\n---\n",
    );
    expect(warnings).toEqual([
      "user_invocable is neither true nor false",
      "paths has entries that are left out",
      "the key foo is unknown",
    ]);
    expect(fields).toMatchObject({ description: "d", paths: [], userInvocable: false });
  });

  it.each([
    "allowed_tools: 5",
    "allowed_tools: [run, [x]]",
    "allowed_tools: ['run*']",
    "trusted_signers: {a: b}",
  ])("is refused when a list that narrows is malformed: %s", (line) => {
    expect(() => parseSkillFile(`---\n${line}\n---\n`)).toThrow(/malformed|entry/);
  });
});

describe("a hostile SKILL.md", () => {
  it.each([
    ["a bomb of aliases", "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\ndescription: *c", /cannot be read/],
    ["an alias", "a: &a x\ndescription: *a", /cannot be read/],
    ["deep flow", `description: ${"[".repeat(5_000)}`, /nested too deeply/],
    [
      "deep blocks",
      `${Array.from({ length: 40 }, (_, i) => `${"  ".repeat(i)}a:`).join("\n")} b`,
      /nested too deeply/,
    ],
    ["deep sequences", `${"- ".repeat(2_000)}a`, /nested too deeply/],
    ["much text", `description: ${"x".repeat(20_000)}`, /too long/],
    ["a list", "- a\n- b", /no mapping/],
    ["no YAML", "a: b: c", /no YAML/],
    ["a key twice", "name: a\nname: b", /no YAML/],
  ])("with %s has no fields and a warning", (_, front, warning) => {
    const { name, fields, warnings, body } = parseSkillFile(`---\n${front}\n---\nbody`);
    expect(warnings.join()).toMatch(warning);
    expect({ name, description: fields.description, body }).toEqual({
      name: undefined,
      description: "",
      body: "body",
    });
  });

  it("cannot hide words in its card, and reports those in its body", () => {
    const { fields, warnings } = parseSkillFile(
      '---\ndescription: "safe\u202Eevil\u200B\u{E0041}\\nnext"\n---\nlook\u2066here',
    );
    expect(fields.description).toBe("safeevil next");
    expect(warnings).toEqual(["the body has hidden characters"]);
  });

  it("with keys of prototypes changes nothing", () => {
    const { fields } = parseSkillFile("---\n__proto__: {description: x}\nconstructor: y\n---\n");
    expect(fields.description).toBe("");
    expect(({} as { description?: string }).description).toBeUndefined();
  });
});
