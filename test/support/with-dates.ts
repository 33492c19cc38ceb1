/** An answer of the API with its times as dates, which the schemas of answers write as text. */
export const withDates = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer), (_name, value: unknown) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? new Date(value) : value,
  );
