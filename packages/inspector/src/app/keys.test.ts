import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { focusSelected, isBare, isCommand, isTyping, placeAfter } from "./keys.ts";

class FakeElement extends EventTarget {
  readonly tagName: string;
  readonly isContentEditable: boolean;
  readonly focus = vi.fn();

  constructor(tagName: string, isContentEditable = false) {
    super();
    this.tagName = tagName;
    this.isContentEditable = isContentEditable;
  }
}

beforeEach(() => void vi.stubGlobal("HTMLElement", FakeElement));
afterEach(() => vi.unstubAllGlobals());

const press = (more: object = {}) => ({
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  defaultPrevented: false,
  target: null,
  ...more,
});

describe("a key press", () => {
  test.each(["INPUT", "TEXTAREA", "SELECT"])("is typed into %s", (tag) => {
    expect(isTyping(new FakeElement(tag))).toBe(true);
    expect(isCommand(press({ target: new FakeElement(tag) }))).toBe(false);
  });

  test("is typed into an element that can be edited", () => {
    expect(isTyping(new FakeElement("DIV", true))).toBe(true);
  });

  test.each(["BUTTON", "A", "DIV"])("is a command on %s", (tag) => {
    expect(isTyping(new FakeElement(tag))).toBe(false);
    expect(isCommand(press({ target: new FakeElement(tag) }))).toBe(true);
  });

  test.each(["ctrlKey", "metaKey", "altKey", "defaultPrevented"])("is no command with %s", (member) => {
    expect(isBare(press({ [member]: true }))).toBe(false);
    expect(isCommand(press({ [member]: true }))).toBe(false);
    expect(isBare(press())).toBe(true);
  });

  test("on no element at all is a command", () => {
    expect(isTyping(null)).toBe(false);
    expect(isCommand(press())).toBe(true);
  });
});

describe("the place in a list", () => {
  test.each([
    ["j", -1, 3, 0],
    ["j", 0, 3, 1],
    ["j", 2, 3, 2],
    ["k", 2, 3, 1],
    ["k", 0, 3, 0],
    ["k", -1, 3, 0],
    ["j", -1, 0, -1],
    ["x", 1, 3, 1],
  ])("after %s at %d of %d entries %d", (key, place, length, next) => {
    expect(placeAfter(key, place, length === 0 ? 0 : length)).toBe(next);
  });
});

describe("the selected item", () => {
  test("takes the focus unless a text is being typed", () => {
    const item = new FakeElement("A");
    vi.stubGlobal("document", { activeElement: null });
    focusSelected(item as unknown as HTMLElement);
    expect(item.focus).toHaveBeenCalledOnce();
    vi.stubGlobal("document", { activeElement: new FakeElement("INPUT") });
    focusSelected(item as unknown as HTMLElement);
    expect(item.focus).toHaveBeenCalledOnce();
    focusSelected(null);
  });
});
