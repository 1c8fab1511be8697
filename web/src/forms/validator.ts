// rjsf asks for a validator; its usual one compiles schemas to code, which the page's policy refuses. This one
// interprets them.

import { Validator } from "@cfworker/json-schema";
import type { CustomValidator, ErrorSchema, RJSFSchema, RJSFValidationError, StrictRJSFSchema, ValidationData, ValidatorType } from "@rjsf/utils";

type Data = unknown;

class Interpreter implements ValidatorType<Data> {
  private made = new WeakMap<object, Validator>();

  private of(schema: StrictRJSFSchema, root: RJSFSchema): Validator {
    const known = this.made.get(schema);
    if (known) return known;
    const definitions = (root as { definitions?: object }).definitions;
    const whole = definitions && schema !== root ? { ...schema, definitions } : schema;
    const validator = new Validator(whole as object, "7", false);
    this.made.set(schema, validator);
    return validator;
  }

  isValid(schema: StrictRJSFSchema, data: Data | undefined, root: StrictRJSFSchema): boolean {
    try {
      return this.of(schema, root).validate(data ?? null).valid;
    } catch {
      return false;
    }
  }

  rawValidation<Result>(schema: RJSFSchema, data?: Data): { errors?: Result[]; validationError?: Error } {
    return { errors: this.of(schema, schema).validate(data ?? {}).errors as Result[] };
  }

  validateFormData(data: Data | undefined, schema: RJSFSchema, _custom?: CustomValidator<Data>): ValidationData<Data> {
    const found = this.of(schema, schema).validate(data ?? {}).errors;
    const errors: RJSFValidationError[] = [];
    const tree: Record<string, { __errors: string[] }> = {};
    for (const error of found) {
      const [field] = error.instanceLocation.replace(/^#\/?/, "").split("/");
      // The lines about the parents only say that something below is wrong.
      if (!field || ["properties", "$ref", "items"].includes(error.keyword)) continue;
      errors.push({ property: `.${field}`, message: error.error, stack: `${field}: ${error.error}` });
      (tree[field] ??= { __errors: [] }).__errors.push(error.error);
    }
    return { errors, errorSchema: tree as unknown as ErrorSchema<Data> };
  }

  toErrorList(_schema?: ErrorSchema<Data>): RJSFValidationError[] {
    return [];
  }

  reset() {
    this.made = new WeakMap();
  }
}

export const validator = new Interpreter() as ValidatorType;
export default validator;
