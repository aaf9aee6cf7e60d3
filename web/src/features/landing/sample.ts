/** One member of the sample network, as the product shows it. Money is decimal text, as everywhere. */
export const sample = {
  balance: { available: '284.50', reserved: '100.00', requestable: '184.50' },
  packageValue: '500.00',
  packageLabel: 'Premium',
  rate: '40.00',
  earned: '434.50',
  roi: '-13.10',
  pairs: [
    {
      left: { name: 'erik_s', value: '500.00' },
      right: { name: 'lena_vogt', value: '250.00' },
      bonus: '300.00',
      state: 'paying',
    },
    {
      left: { name: 'priya_n', value: '50.00' },
      right: { name: 'ben', value: '0.00' },
      bonus: '0.00',
      state: 'blocked',
    },
    {
      left: { name: 'tomas_r', value: '100.00' },
      right: { name: 'aiko_m', value: '100.00' },
      bonus: '80.00',
      state: 'paying',
    },
    { left: { name: 'gustav_b', value: '50.00' }, right: null, bonus: '0.00', state: 'open' },
  ],
} as const
