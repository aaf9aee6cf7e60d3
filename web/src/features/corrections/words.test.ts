import { expect, test } from 'vitest'
import { restoredWords } from './words'

test('a repair of rows says of each row what happens to it', () => {
  const row = { table: 'public.transactions', id: null }
  expect(restoredWords({ ...row, old: null, new: { transaction_type: 'deposit', amount: '500.00' } })).toBe(
    'Journal row added: deposit of 500.00',
  )
  const withdrawal = { amount: '120.00', status: 'approved', wallet_address: 'TQ5', payout_reference: null }
  expect(restoredWords({ table: 'public.withdrawals', id: 'x', old: null, new: withdrawal })).toBe(
    'Withdrawal added: 120.00, approved, TQ5',
  )
  expect(restoredWords({ ...row, old: { transaction_type: 'bonus', amount: '-5.00' }, new: null })).toBe(
    'Journal row taken out: bonus of -5.00',
  )
  expect(
    restoredWords({
      table: 'public.deposits',
      id: 'x',
      old: { amount: 1000, decision_no: null },
      new: { amount: 500, decision_no: 7 },
    }),
  ).toBe('Deposit set back: amount from 1000 to 500, decision no from none to 7')
})
