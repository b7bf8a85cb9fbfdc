import { expect, it } from "vitest";
import { RecordedSubjects } from "./recorded-subjects.ts";
import { inputOf } from "./testing/recorded.ts";

const subject = {
  ...inputOf({}).subject,
  roles: ["a"],
  scopes: ["x", "y"],
  chain: ["p"],
  root_session: "s0",
};

it("a subject that comes again is the same object", () => {
  const subjects = new RecordedSubjects();
  expect(subjects.read(structuredClone(subject))).toEqual(subject);
  expect(subjects.read(structuredClone(subject))).toBe(subjects.read(structuredClone(subject)));
});

it.each(Object.keys(subject))("one that differs in %s is another", (name) => {
  const subjects = new RecordedSubjects();
  const first = subjects.read(subject);
  const value = Reflect.get(subject, name);
  const others: Record<string, unknown> = {
    trust: "standing",
    started: "api",
    enforcement: "confined",
    depth: 1,
  };
  const other = others[name] ?? (Array.isArray(value) ? [...value, "more"] : "other");
  expect(subjects.read({ ...subject, [name]: other })).toEqual({ ...subject, [name]: other });
  expect(subjects.read({ ...subject, [name]: other })).not.toBe(first);
});

it.each([[null], [1], [{}], [{ ...subject, trust: "friend" }], [{ ...subject, roles: "a" }]])(
  "%j is none",
  (value) => {
    expect(new RecordedSubjects().read(value)).toBeUndefined();
  },
);
