/** Runs something with the next picture that the browser draws, and soon where it draws none. */
export type Schedule = (run: () => void) => void;

/** A page in the background draws nothing, and must not fall behind for that. */
const UNSEEN_MS = 200;

/** By the browser's own frames. */
export const byFrame: Schedule = (run) => {
  let isDone = false;
  const once = () => {
    if (isDone) return;
    isDone = true;
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    run();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, UNSEEN_MS);
};
