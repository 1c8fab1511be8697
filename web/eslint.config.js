import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

// What would let an agent's output become markup is refused wherever it stands.
const noMarkupFromText = [
  { selector: "JSXAttribute[name.name='dangerouslySetInnerHTML']", message: "output is text, never markup" },
  { selector: "MemberExpression[property.name=/^(innerHTML|outerHTML)$/]", message: "output is text, never markup" },
  { selector: "CallExpression[callee.property.name='insertAdjacentHTML']", message: "output is text, never markup" },
];

// Arrows, ticks and shapes are in few fonts: they are drawn (src/ui/icons.tsx).
const noSymbols = ["Literal[value=/[\\u2190-\\u2211\\u2213-\\u2bff]/]", "JSXText[value=/[\\u2190-\\u2211\\u2213-\\u2bff]/]", "TemplateElement[value.raw=/[\\u2190-\\u2211\\u2213-\\u2bff]/]"].map((selector) => ({ selector, message: "not every font has this: use an icon" }));

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
    files: ["src/**/*.tsx"],
    rules: { "no-restricted-syntax": ["error", ...noMarkupFromText, ...noSymbols] },
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
