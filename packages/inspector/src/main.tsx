import "./app/without-eval.ts";
import "./styles.css";

// Only what is imported after it is made without eval; a static import could be bundled before.
const { start } = await import("./app/start.tsx");
start();
