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
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate]);
}

/** Whether keys go into a field. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
