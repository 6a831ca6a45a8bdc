/* Nothing, under the driver library's name, so that count_driver can be linked where no driver is
 * installed. */
