import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { DESTINATIONS } from "./navigation.ts";

const WITHIN_MS = 1_500;

/** `g` and a letter go to a place of the page, from anywhere but a field that is written in. */
export function useGoKeys(): void {
  const navigate = useNavigate();
  useEffect(() => {
    let pressed = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
      const destination =
        Date.now() - pressed < WITHIN_MS ? DESTINATIONS.find(({ key }) => key === event.key) : undefined;
      pressed = event.key === "g" && !destination ? Date.now() : 0;
      if (!destination) return;
      event.preventDefault();
      void navigate({ to: destination.to });
    };
    // Before everybody else, who leave alone what is prevented: the letter after `g` must do nothing but go.
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, [navigate]);
}

/** Whether keys go into a field. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
