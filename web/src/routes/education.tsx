export { EducationPage as default } from '@/features/education/education-page'
