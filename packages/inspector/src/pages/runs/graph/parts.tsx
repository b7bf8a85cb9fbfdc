import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { TextLink } from "../../../design/links.tsx";
import { visible } from "../../../design/visible.ts";

/** Links to an approval, pending or answered. */
export function ApprovalLink({ id, children }: { id: string; children: ReactNode }) {
  return (
    <TextLink to="/approvals" search={{ approval: id }}>
      {children}
    </TextLink>
  );
}

/** Links to an action of a run. */
export function ActionLink({ run, id, children }: { run: string; id: string; children: ReactNode }) {
  return (
    <Link
      to="/runs/$id"
      params={{ id: run }}
      search={(before) => ({ ...before, action: id })}
      className="line-clamp-2 min-w-0 break-words text-accent underline"
    >
      {children}
    </Link>
  );
}

const SHORT = 400;

/** A text from outside; a long one scrolls in a box of its own. */
export function LongText({ text }: { text: string }) {
  if (text.length <= SHORT) return visible(text);
  return (
    <div
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-32 overflow-auto"
    >
      {visible(text)}
    </div>
  );
}

/** The facts of which a text is known, each as a {@link LongText}. */
export function longTexts(texts: Readonly<Record<string, string | undefined>>): Record<string, ReactNode> {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, text && <LongText key={name} text={text} />]),
  );
}
