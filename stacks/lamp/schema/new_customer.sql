CREATE PROCEDURE DS2.NEW_CUSTOMER(
  IN firstname_in VARCHAR(50), IN lastname_in VARCHAR(50), IN address1_in VARCHAR(50), IN address2_in VARCHAR(50),
  IN city_in VARCHAR(50), IN state_in VARCHAR(50), IN zip_in INT, IN country_in VARCHAR(50), IN region_in INT,
  IN email_in VARCHAR(50), IN phone_in VARCHAR(50), IN creditcardtype_in INT, IN creditcard_in VARCHAR(50),
  IN creditcardexpiration_in VARCHAR(50), IN username_in VARCHAR(50), IN password_in VARCHAR(50), IN age_in INT, IN income_in INT,
  IN gender_in VARCHAR(1), OUT customerid_out INT)
MODIFIES SQL DATA
BEGIN
  -- Two customers who choose the same name at the same time: the unique index decides, and nobody is told an error.
  DECLARE EXIT HANDLER FOR 1062 SET customerid_out = 0;
  SET customerid_out = 0;
  IF NOT EXISTS (SELECT 1 FROM CUSTOMERS WHERE USERNAME = username_in) THEN
    INSERT INTO CUSTOMERS (FIRSTNAME, LASTNAME, ADDRESS1, ADDRESS2, CITY, STATE, ZIP, COUNTRY, REGION, EMAIL, PHONE, CREDITCARDTYPE,
      CREDITCARD, CREDITCARDEXPIRATION, USERNAME, PASSWORD, AGE, INCOME, GENDER)
    VALUES (firstname_in, lastname_in, address1_in, address2_in, city_in, state_in, zip_in, country_in, region_in, email_in, phone_in,
      creditcardtype_in, creditcard_in, creditcardexpiration_in, username_in, password_in, age_in, income_in, gender_in);
    SET customerid_out = LAST_INSERT_ID();
  END IF;
END
