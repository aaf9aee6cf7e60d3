import { formatMoney, type Decimal } from './money'

/** What is missing of a pending deposit of which less arrived than was claimed, as its member is asked for it. */
export interface DepositRest {
  /** How many times the rest was asked for by then. */
  no: number
  /** What had arrived in all. */
  received_amount: Decimal
  missing: Decimal
  asked_at: string
  /** How the member sent it; null while that is not known. */
  reference_number: string | null
  referenced_at: string | null
}

/** The same for administrators. */
export interface AskedRest extends DepositRest {
  asked_by_name?: string
}

/** A deposit whose rest may have been asked for. */
interface Waiting {
  rest: DepositRest | null
}

/** The rest that its member has still to send; null where nothing is left for the member to do. */
export function restToSend({ rest }: Waiting): DepositRest | null {
  return rest?.reference_number === null ? rest : null
}

/** "$60.00 arrived, $40.00 is missing"; in the past once the rest was sent. */
export function restText({
  received_amount: received,
  missing,
  reference_number: sent,
}: DepositRest): string {
  const [arrived, lacks] = sent === null ? ['arrived', 'is'] : ['had arrived', 'was']
  return `${formatMoney(received)} ${arrived}, ${formatMoney(missing)} ${lacks} missing`
}
