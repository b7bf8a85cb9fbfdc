import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { chooseTheme, chosenTheme, startTheme } from "./theme.ts";

const stored = new Map<string, string>();
const noTheme = (): { theme?: string } => ({});
const page = { documentElement: { dataset: noTheme() } };
let system: EventTarget & { matches: boolean };

beforeEach(() => {
  stored.clear();
  system = Object.assign(new EventTarget(), { matches: false });
  page.documentElement.dataset = noTheme();
  vi.stubGlobal("document", page);
  vi.stubGlobal("window", { matchMedia: () => system });
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
});
afterEach(() => vi.unstubAllGlobals());

const shown = () => page.documentElement.dataset.theme;

describe("the theme", () => {
  test("is the system's at first, and follows it", () => {
    startTheme();
    expect(chosenTheme()).toBe("system");
    expect(shown()).toBe("light");
    system.matches = true;
    system.dispatchEvent(new Event("change"));
    expect(shown()).toBe("dark");
  });

  test.each(["light", "dark"] as const)("is %s if the user chooses it, whatever the system's is", (theme) => {
    startTheme();
    chooseTheme(theme);
    expect(chosenTheme()).toBe(theme);
    system.matches = theme === "light";
    system.dispatchEvent(new Event("change"));
    expect(shown()).toBe(theme);
  });

  test("is the system's again if the user chooses that, or if something else is stored", () => {
    system.matches = true;
    chooseTheme("light");
    chooseTheme("system");
    expect(shown()).toBe("dark");
    stored.set("reins.theme", "purple");
    expect(chosenTheme()).toBe("system");
  });
});
