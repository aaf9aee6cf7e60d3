import { describe, expect, it } from 'vitest'
import type { HistoryItem } from '@/lib/member'
import { provenance, requestNote } from './history-words'

const bonus: HistoryItem = {
  id: '1',
  user_id: '1',
  amount: '12.50',
  transaction_type: 'referral bonus',
  status: 'completed',
  created_at: '2026-03-16T13:02:00Z',
  effective_at: '2026-03-16T13:02:00Z',
  source: 'bonus',
  counterparty: 'anna',
  pair_number: null,
  pair_names: null,
  rate: '5.00',
  volume: '250.00',
  bonus_amount: '12.50',
  reentry: '1.25',
  reference: null,
  wallet_address: null,
  admin_notes: null,
  decided_at: null,
  payout_reference: null,
  can_cancel: false,
  cancelled: false,
  in_balance: true,
  received_amount: null,
  rest: null,
  further_references: null,
}

describe('provenance', () => {
  it('says where a bonus comes from', () => {
    expect(provenance(bonus)).toBe('5.00% of $250.00, package of anna')
    const pair = {
      pair_number: 2,
      pair_names: ['anna', 'ben'] as [string, string],
      transaction_type: 'override bonus',
    }
    expect(provenance({ ...bonus, ...pair })).toBe('5.00% of $250.00, pair 2 of anna: anna, ben')
  })

  it('does not explain a part by what explains the whole', () => {
    const now = { volume: '500.00', bonus_amount: '25.00' }
    expect(provenance({ ...bonus, ...now })).toBe(
      'First credit; the bonus is now $25.00 (5.00% of $500.00, package of anna)',
    )
    expect(provenance({ ...bonus, ...now, source: 'transaction' })).toBe(
      'Raised; the bonus is now $25.00 (5.00% of $500.00, package of anna)',
    )
    const taken = { volume: '0.00', bonus_amount: '0.00', amount: '-12.50', source: 'transaction' } as const
    expect(provenance({ ...bonus, ...taken })).toBe('Lowered by a correction; the bonus is now $0.00 (anna)')
  })
})

describe('requestNote', () => {
  const request: HistoryItem = {
    ...bonus,
    source: 'withdrawal',
    amount: '-120.00',
    transaction_type: 'withdrawal',
    bonus_amount: null,
    rate: null,
  }

  it('tells a refusal from a cancellation, whatever the reason says', () => {
    const refused = { ...request, status: 'rejected', admin_notes: 'Cancelled by the member' }
    expect(requestNote(refused)).toBe('Not approved: Cancelled by the member. Nothing moved.')
    const cancelled = { ...refused, cancelled: true }
    expect(requestNote(cancelled)).toBe('Cancelled by you. Nothing moved.')
    expect(requestNote({ ...cancelled, admin_notes: 'Account closed' })).toBe('Cancelled. Nothing moved.')
  })

  it('says when it was requested where that is another day than that of the row', () => {
    const approved = { ...request, status: 'approved', effective_at: '2026-03-20T13:15:00Z' }
    expect(requestNote(approved)).toBe('Approved, requested on 16 Mar 2026')
    expect(requestNote({ ...request, status: 'approved' })).toBe('Approved')
  })

  it('says of a pending withdrawal that nothing was taken', () => {
    expect(requestNote({ ...request, status: 'pending', in_balance: false })).toBe('Reserved, not taken yet')
  })

  const deposit: HistoryItem = { ...request, source: 'deposit', amount: '100.00', in_balance: false }

  it('says what arrived of an approved deposit where it was another amount', () => {
    const note = 'Cash-in, not part of the balance'
    expect(requestNote({ ...deposit, received_amount: '98.50' })).toBe(`${note}, $98.50 arrived`)
    expect(requestNote({ ...deposit, received_amount: '100.00' })).toBe(note)
  })

  it('says what is missing of a pending deposit until the rest was sent', () => {
    const rest = {
      no: 1,
      received_amount: '60.00',
      missing: '40.00',
      asked_at: '2026-03-16T13:15:00Z',
      reference_number: null,
      referenced_at: null,
    }
    const pending = { ...deposit, status: 'pending' }
    expect(requestNote({ ...pending, rest })).toBe('$60.00 arrived, $40.00 is missing')
    expect(requestNote({ ...pending, rest: { ...rest, reference_number: 'b7e4' } })).toBe(
      'Not part of the balance',
    )
  })
})
