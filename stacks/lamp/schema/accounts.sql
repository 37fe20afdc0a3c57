-- The account of the pages. The server listens on its socket alone, so nobody connects from elsewhere.

CREATE OR REPLACE USER 'web'@'localhost' IDENTIFIED BY 'web';
GRANT ALL PRIVILEGES ON DS2.* TO 'web'@'localhost';
