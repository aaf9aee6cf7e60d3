/** "deposit.receipt_opened" as a person reads it: "Deposit: receipt opened". */
export function actionWords(action: string): string {
  const [area = '', act = ''] = action.split('.')
  const name = area.charAt(0).toUpperCase() + area.slice(1)
  return act ? `${name}: ${act.replaceAll('_', ' ')}` : name
}

/** "status_before" as "Status before". */
export function fieldWords(field: string): string {
  const words = field.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A value of an entry as text: nothing is hidden and nothing is rounded. */
export function valueText(value: unknown): string {
  if (value === null) return 'None'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
