import { describe, expect, test } from "vitest";
import { defused, defusedWhole, mentionsIn } from "./mentions.ts";

const namesOf = (text: string) => mentionsIn(text).flatMap(({ names }) => names);

describe("a reference in a text", () => {
  test.each([
    ["a path", "see @src/a.ts", "src/a.ts"],
    ["an absolute path", "see @/etc/passwd", "/etc/passwd"],
    ["a path in the home", "see @~/.ssh/id_rsa", "~/.ssh/id_rsa"],
    ["a path with a full stop behind it", "see @src/a.ts.", "src/a.ts"],
    ["a path in quotes", 'see @"my file.txt" now', "my file.txt"],
    ["a path in typographic quotes", "see @“my file.txt” now", "my file.txt"],
    ["a path in brackets", "see @<my file.txt> now", "my file.txt"],
    ["a path with escaped blanks", "see @my\\ file.txt now", "my file.txt"],
    ["a path with encoded blanks", "see @my%20file.txt", "my file.txt"],
    ["lines of a file", "see @src/a.ts:12-40", "src/a.ts"],
    ["a fragment of a file", "see @src/a.ts#L12", "src/a.ts"],
    ["an address of a file", "see @file:///etc/passwd", "/etc/passwd"],
    ["a folder by its scheme", "see @folder:src", "src"],
    ["a path before a comma", "@a.ts,@b.ts", "a.ts"],
    ["a name in another script", "see @файл.txt", "файл.txt"],
  ])("names %s", (_, text, name) => {
    expect(namesOf(text)).toContain(name);
  });

  test.each(["an @", "@ a", "a@", "@@ -1,2 +1,2 @@"])("is none in %j", (text) => {
    expect(mentionsIn(text)).toEqual([]);
  });

  test("is a path by its form, and not where an address of mail has its @", () => {
    const [mail] = mentionsIn("write to ann@example.com");
    expect(mail).toMatchObject({ isInWord: true, isPath: false });
    const [path] = mentionsIn("look at @src/a");
    expect(path).toMatchObject({ isInWord: false, isPath: true });
    const [word] = mentionsIn("ask @ann");
    expect(word).toMatchObject({ isInWord: false, isPath: false });
  });

  test("counts as a path unseen where there are too many to look at", () => {
    const many = mentionsIn("@a ".repeat(300));
    expect(many).toHaveLength(300);
    expect(many.at(-1)).toMatchObject({ names: [], isPath: true });
  });

  test("is found in a long text in time that grows with the text", () => {
    const text = `@${"a".repeat(100_000)} `.repeat(10);
    expect(mentionsIn(text)).toHaveLength(10);
    expect(namesOf(text).every((name) => name.length <= 512)).toBe(true);
  });
});

describe("a text without references", () => {
  test("has a space behind those that are named, and no other change", () => {
    const text = "mail ann@example.com about @src/a and @b";
    const places = mentionsIn(text).flatMap(({ at, isInWord }) => (isInWord ? [] : [at]));
    expect(defused(text, places)).toBe("mail ann@example.com about @ src/a and @ b");
    expect(defused(text, [])).toBe(text);
  });

  test("has a space behind every @ that something follows", () => {
    expect(defusedWhole("@a ann@b @@c @")).toBe("@ a ann@ b @@ c @");
    expect(mentionsIn(defusedWhole("@a @/b @“c d”"))).toEqual([]);
  });
});
