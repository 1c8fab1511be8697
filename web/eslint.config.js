import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

// What would let an agent's output become markup is refused wherever it stands.
const noMarkupFromText = [
  { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "output is text, never markup" },
  { selector: "MemberExpression[property.name=/^(innerHTML|outerHTML)$/]", message: "output is text, never markup" },
  { selector: "CallExpression[callee.property.name='insertAdjacentHTML']", message: "output is text, never markup" },
];

export default tseslint.config(
  { ignores: ["dist", "node_modules", "src/api/schema.ts"] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ["**/*.{ts,tsx,mjs,js}"],
    plugins: { "react-hooks": hooks },
    rules: {
      "react-hooks/rules-of-hooks": "error",
      "react-hooks/exhaustive-deps": "error",
      "no-restricted-syntax": ["error", ...noMarkupFromText],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-control-regex": "off",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", caughtErrors: "none" }],
    },
  },
  {
    files: ["e2e/**/*.mjs", "scripts/**/*.mjs", "public/*.js", "*.ts"],
    languageOptions: {
      globals: {
        process: "readonly", console: "readonly", URL: "readonly", fetch: "readonly", Buffer: "readonly",
        setTimeout: "readonly", clearTimeout: "readonly", performance: "readonly", localStorage: "readonly",
        document: "readonly", window: "readonly", TextDecoder: "readonly", AbortController: "readonly", AbortSignal: "readonly",
        MutationObserver: "readonly", setInterval: "readonly", clearInterval: "readonly", getComputedStyle: "readonly",
        requestAnimationFrame: "readonly", innerWidth: "readonly", TextDecoderStream: "readonly",
      },
    },
    rules: { "@typescript-eslint/no-unused-expressions": "off", "no-empty": "off" },
  },
);
